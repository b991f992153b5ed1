//! The endpoints of a backend that are checked, and how.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use sluice_ir::{Backend, BackendId, HealthCheck, Protocol, Transport};
use sluice_translate::ids;

/// The endpoints of one backend, and their check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Targets {
    /// Namespace of the Service: its checks take turns.
    pub(crate) namespace: String,
    pub(crate) check: HealthCheck,
    pub(crate) tls: Tls,
    pub(crate) endpoints: BTreeSet<SocketAddr>,
}

/// TLS with endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    Never,
    /// With this SNI, if there is one.
    Named(Option<String>),
}

impl Targets {
    /// The endpoints of a backend that asks for checks; `None` if it does not, or if its endpoints cannot be asked as they are
    /// spoken to: in HTTP/1.1, with or without TLS, without a certificate of ours.
    pub(crate) fn new(id: &BackendId, backend: &Backend) -> Option<Self> {
        let check = backend.health.check.clone()?;
        let tls = tls(&backend.transport)?;
        let plain = backend.variant_of.as_ref().unwrap_or(id);
        let (service, _) = ids::service_of(plain)?;
        let endpoints = backend.endpoints.iter().map(|endpoint| endpoint.address);
        Some(Targets {
            namespace: service.namespace.to_string(),
            check: *check,
            tls,
            endpoints: endpoints.collect(),
        })
    }

    /// True if the endpoints are asked the same.
    pub(crate) fn asks_as(&self, other: &Targets) -> bool {
        (&self.check, &self.tls) == (&other.check, &other.tls)
    }
}

fn tls(transport: &Transport) -> Option<Tls> {
    if transport.protocol != Protocol::Http1 || transport.proxy_protocol {
        return None;
    }
    match &transport.tls {
        None => Some(Tls::Never),
        Some(tls) if tls.certificate.is_some() => None,
        Some(tls) => Some(Tls::Named(tls.server_name.clone())),
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::{Endpoint, HealthPolicy, UpstreamTls};

    use super::*;

    fn targets(transport: Transport) -> Option<Targets> {
        let backend = Backend {
            health: HealthPolicy {
                check: Some(HealthCheck::at("/healthz".to_owned()).into()),
                ..HealthPolicy::default()
            },
            transport: transport.into(),
            endpoints: vec![Endpoint::at("10.0.0.1:80".parse().unwrap())],
            ..Backend::default()
        };
        Targets::new(&BackendId::new("shop/web/80"), &backend)
    }

    #[test]
    fn endpoints_are_asked_as_they_are_spoken_to_or_not_at_all() {
        let plain = targets(Transport::default()).unwrap();
        assert_eq!((&*plain.namespace, plain.tls), ("shop", Tls::Never));
        let with_tls = |tls: UpstreamTls| Transport {
            tls: Some(tls),
            ..Transport::default()
        };
        let named = UpstreamTls {
            server_name: Some("shop.example".to_owned()),
            ..UpstreamTls::default()
        };
        let expected = Tls::Named(Some("shop.example".to_owned()));
        assert_eq!(targets(with_tls(named)).unwrap().tls, expected);
        let with_certificate = UpstreamTls {
            certificate: Some(ids::certificate(&sluice_translate::ObjectKey::new(
                "shop", "client",
            ))),
            ..UpstreamTls::default()
        };
        assert_eq!(targets(with_tls(with_certificate)), None);
        for protocol in [Protocol::Http2, Protocol::FastCgi] {
            let transport = Transport {
                protocol,
                ..Transport::default()
            };
            assert_eq!(targets(transport), None);
        }
        let proxied = Transport {
            proxy_protocol: true,
            ..Transport::default()
        };
        assert_eq!(targets(proxied), None);
    }

    #[test]
    fn who_does_not_ask_is_not_checked() {
        let id = BackendId::new("shop/web/80");
        assert_eq!(Targets::new(&id, &Backend::default()), None);
    }
}
