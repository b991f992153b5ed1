//! Ids of backends and secrets. To the model they are opaque; they are composed and parsed here only.

use sluice_ir::{BackendId, PasswordScheme, SecretId, ServerName};
use sluice_syntax::DnsName;
use sluice_syntax::authorities::Authorities;

use crate::{ObjectKey, Port};

/// Prefix of external backends. No namespace with a Service has a colon in its port.
const EXTERNAL: &str = "external";

/// `namespace/service/port`. No part can hold a slash; ingress-nginx joins with hyphens, where (`a`, `b-c`) and (`a-b`, `c`)
/// collide.
#[must_use]
pub fn service_backend(service: &ObjectKey, port: &Port) -> BackendId {
    BackendId::new(format!("{}/{}/{port}", service.namespace, service.name))
}

/// A host outside of the cluster.
pub(crate) fn external_backend(host: &DnsName, port: u16) -> BackendId {
    BackendId::new(format!("{EXTERNAL}/{}:{port}", host.as_str()))
}

/// The same endpoints with another transport.
pub(crate) fn variant(backend: &BackendId, label: &str) -> BackendId {
    BackendId::new(format!("{backend}/{label}"))
}

/// A backend with the default transport, with the transport that another one has.
pub(crate) fn with_transport_of(backend: &BackendId, other: &BackendId) -> BackendId {
    match label(other) {
        Some(label) => variant(backend, label),
        None => backend.clone(),
    }
}

/// True if the two have the same transport.
pub(crate) fn have_same_transport(one: &BackendId, other: &BackendId) -> bool {
    label(one) == label(other)
}

/// Label of the transport to a Service.
fn label(backend: &BackendId) -> Option<&str> {
    backend.as_str().splitn(4, '/').nth(3)
}

/// The backend with the default transport that a backend is a variant of, or the backend itself.
#[must_use]
pub fn without_variant(backend: &BackendId) -> BackendId {
    let parts = backend.as_str().splitn(4, '/').take(3);
    BackendId::new(parts.collect::<Vec<_>>().join("/"))
}

/// Service of a backend, and its port as an object names it; `None` for a host outside of the cluster.
#[must_use]
pub fn service_of(backend: &BackendId) -> Option<(ObjectKey, &str)> {
    let mut parts = backend.as_str().split('/');
    let (namespace, name, port) = (parts.next()?, parts.next()?, parts.next()?);
    (!name.contains(':')).then(|| (ObjectKey::new(namespace, name), port))
}

/// A backend in a sentence: its Service and port, or its id where it has none.
#[must_use]
pub fn shown(backend: &BackendId) -> String {
    match service_of(backend) {
        Some((service, port)) => format!("Service {service} port {port}"),
        None => backend.to_string(),
    }
}

/// Name of the Service of a backend, or its host and port outside of the cluster.
#[must_use]
pub fn upstream_name(backend: &BackendId) -> &str {
    backend.as_str().split('/').nth(1).unwrap_or_default()
}

/// Server of a route whose id is [`sluice_ir::RouteId::from_path`]: a host name has none of `=`, `~` and `/`.
pub(crate) fn server_of(route: &str) -> Option<ServerName> {
    match route.split(['=', '~', '/']).next()? {
        "_" => Some(ServerName::CatchAll),
        host => ServerName::parse(host).ok(),
    }
}

/// A certificate with its key.
#[must_use]
pub fn certificate(secret: &ObjectKey) -> SecretId {
    SecretId::new(secret.to_string())
}

/// Certificate authorities in a Secret.
#[must_use]
pub fn authorities(secret: &ObjectKey) -> SecretId {
    SecretId::new(format!("{secret}/ca"))
}

/// Certificate authorities of clients in a Secret. Others, or other revoked certificates, have another id: what was verified before
/// is not verified by them, and a connection of before says so.
#[must_use]
pub fn client_authorities(secret: &ObjectKey, authorities: &Authorities) -> SecretId {
    SecretId::new(format!("{secret}/ca-{}", authorities.believed))
}

/// Users in one entry of a Secret, or in all of them.
#[must_use]
pub fn users(secret: &ObjectKey, scheme: PasswordScheme, by_entry: bool) -> SecretId {
    let scheme = match scheme {
        PasswordScheme::Basic => "",
        PasswordScheme::Digest => "digest-",
    };
    let entries = if by_entry { "-by-entry" } else { "" };
    SecretId::new(format!("{secret}/{scheme}users{entries}"))
}

/// Secret that an id was composed of.
#[must_use]
pub fn secret_of(id: &SecretId) -> Option<ObjectKey> {
    let mut parts = id.as_str().split('/');
    Some(ObjectKey::new(parts.next()?, parts.next()?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_parsed_as_they_were_composed() {
        let key = ObjectKey::new("shop", "web");
        for port in [Port::Number(80), Port::Name("http".to_owned()), Port::First] {
            let id = service_backend(&key, &port);
            let other = variant(&id, "0123");
            assert_ne!(id, other);
            for id in [&id, &other] {
                assert_eq!(service_of(id), Some((key.clone(), &*port.to_string())));
                assert_eq!(without_variant(id), service_backend(&key, &port));
                let canary = service_backend(&ObjectKey::new("shop", "new"), &port);
                let led = with_transport_of(&canary, id);
                assert_eq!(without_variant(&led), canary);
                assert!(have_same_transport(&led, id));
            }
            assert!(!have_same_transport(&id, &other));
        }
        let believed = Authorities {
            certificates: String::new(),
            revoked: None,
            believed: String::new(),
        };
        let schemes = [PasswordScheme::Basic, PasswordScheme::Digest];
        let files = schemes
            .iter()
            .flat_map(|scheme| [false, true].map(|by_entry| users(&key, *scheme, by_entry)));
        let all: BTreeSet<SecretId> = files
            .chain([
                certificate(&key),
                authorities(&key),
                client_authorities(&key, &believed),
            ])
            .collect();
        assert_eq!(all.len(), 7);
        assert!(all.iter().all(|id| secret_of(id) == Some(key.clone())));
    }

    #[test]
    fn external_hosts_have_no_service() {
        let id = external_backend(&DnsName::parse("shop.example").unwrap(), 443);
        assert_eq!(service_of(&id), None);
        assert_eq!(service_of(&variant(&id, "0123")), None);
    }
}
