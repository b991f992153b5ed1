//! Scopes and secrets, each time other bytes.
//!
//! Envoy takes the scopes of a response one by one into its map, and shows them to its workers together when the last one was
//! good. After a refusal some are in the map that no worker knows, and when they come again with the same bytes Envoy takes them
//! for known and never shows them: their hosts would be missing for ever, also for the next controller. So a scope that is
//! sent is never what it was before: the name of its routes, which nothing looks at, ends with a mark.
//!
//! Of a secret Envoy remembers the hash before it tries what it is, and accepts the same bytes the next time without a look: what was
//! refused among others would count as taken. Text beside the blocks of a PEM file is ignored.

use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::route::v3::{RouteConfiguration, ScopedRouteConfiguration};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::Secret;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use prost::Message as _;
use sluice_xds_resource::{HTTP, ResourceType};

use crate::message::Message;
use crate::response::Response;

/// Marks what is set.
pub(crate) fn make_unique(kind: ResourceType, response: &mut Response) {
    match kind {
        ResourceType::Scope => make_scopes_unique(response),
        ResourceType::Secret => make_secrets_unique(response),
        _ => {}
    }
}

/// Behind the last block.
fn make_secrets_unique(response: &mut Response) {
    let mark = format!("\n{}\n", response.nonce);
    for message in &mut response.messages {
        let Ok(mut secret) = Secret::decode(message.bytes()) else {
            continue;
        };
        if let Some(certificates) = certificates(&mut secret) {
            certificates.push_str(&mark);
            *message = Message::from(secret.encode_to_vec()).into();
        }
    }
}

fn certificates(secret: &mut Secret) -> Option<&mut String> {
    let source = match secret.r#type.as_mut()? {
        Type::TlsCertificate(certificate) => certificate.certificate_chain.as_mut()?,
        Type::ValidationContext(context) => context.trusted_ca.as_mut()?,
        _ => return None,
    };
    match source.specifier.as_mut()? {
        Specifier::InlineString(text) => Some(text),
        _ => None,
    }
}

/// Fields that come twice in a message are merged, and the last name holds.
fn make_scopes_unique(response: &mut Response) {
    let name = format!("{HTTP} {}", response.nonce);
    let routes = RouteConfiguration {
        name,
        ..RouteConfiguration::default()
    };
    let marked = ScopedRouteConfiguration {
        route_configuration: Some(routes),
        ..Default::default()
    };
    response.mark = marked.encode_to_vec().into();
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::config::route::v3::VirtualHost;
    use sluice_ir::{SecretValue, Sensitive};
    use sluice_xds::render::named_secret;

    use super::*;
    use crate::version::Version;

    /// A resource of a response with this nonce.
    fn sent(kind: ResourceType, message: &impl prost::Message, nonce: &str) -> Vec<u8> {
        let mut response = Response {
            sent: [("name".into(), Some(Version::hash(b"")))].into(),
            messages: vec![Message::from(message.encode_to_vec()).into()],
            nonce: nonce.to_owned(),
            ..Response::default()
        };
        make_unique(kind, &mut response);
        [&response.messages[0].bytes()[..], &response.mark[..]].concat()
    }

    #[test]
    fn a_scope_is_the_same_but_for_its_mark() {
        let routes = RouteConfiguration {
            name: HTTP.to_owned(),
            virtual_hosts: vec![VirtualHost {
                name: "a.test".to_owned(),
                ..VirtualHost::default()
            }],
            ..RouteConfiguration::default()
        };
        let scope = ScopedRouteConfiguration {
            name: "a.test".to_owned(),
            route_configuration: Some(routes),
            ..ScopedRouteConfiguration::default()
        };
        let marked = |nonce| sent(ResourceType::Scope, &scope, nonce);
        assert_ne!(marked("1"), marked("2"));
        let mut read = ScopedRouteConfiguration::decode(marked("1").as_slice()).unwrap();
        let name = &mut read.route_configuration.as_mut().unwrap().name;
        assert_eq!(std::mem::replace(name, HTTP.to_owned()), "http 1");
        assert_eq!(read, scope);
    }

    #[test]
    fn a_secret_is_the_same_but_for_what_is_behind_its_certificates() {
        let certificate = |chain: &str| SecretValue::Certificate {
            chain: chain.to_owned(),
            key: Sensitive::new("KEY".to_owned()),
        };
        let authorities = |certificates: &str| SecretValue::Authorities {
            certificates: certificates.to_owned(),
            revoked: Some("LISTS".to_owned()),
        };
        for value in [&certificate as &dyn Fn(&str) -> SecretValue, &authorities] {
            let secret = |text: &str| named_secret("a/b", &value(text));
            let marked = |nonce| {
                let bytes = sent(ResourceType::Secret, &secret("TEXT"), nonce);
                Secret::decode(bytes.as_slice()).unwrap()
            };
            assert_ne!(marked("1"), marked("2"));
            assert_eq!(marked("1"), secret("TEXT\n1\n"));
        }
    }
}
