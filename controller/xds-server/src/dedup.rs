//! Scopes and certificates, each time other bytes.
//!
//! Envoy takes the scopes of a response one by one into its map, and shows them to its workers together when the last one was
//! good. After a refusal some are in the map that no worker knows, and when they come again with the same bytes Envoy takes them
//! for known and never shows them: their hosts would be missing for ever, also for the next controller. So a scope that is
//! sent is never what it was before: the name of its routes, which nothing looks at, ends with a mark.
//!
//! Of a secret Envoy remembers the hash before it tries what it is, and accepts the same bytes the next time without a look: a
//! certificate that was refused among others would count as taken. Text beside the blocks of a PEM file is ignored.

use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::route::v3::{RouteConfiguration, ScopedRouteConfiguration};
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::Secret;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryResponse;
use prost::Message;
use sluice_xds::ResourceType;
use sluice_xds::render::HTTP;

/// Marks what is set.
pub(crate) fn make_unique(kind: ResourceType, response: &mut DeltaDiscoveryResponse) {
    match kind {
        ResourceType::Scope => make_scopes_unique(response),
        ResourceType::Secret => make_secrets_unique(response),
        _ => {}
    }
}

/// Behind the last block of the chain.
fn make_secrets_unique(response: &mut DeltaDiscoveryResponse) {
    let mark = format!("\n{}\n", response.nonce);
    for message in response
        .resources
        .iter_mut()
        .filter_map(|resource| resource.resource.as_mut())
    {
        let Ok(mut secret) = Secret::decode(message.value.as_slice()) else {
            continue;
        };
        if let Some(Type::TlsCertificate(certificate)) = &mut secret.r#type
            && let Some(chain) = &mut certificate.certificate_chain
            && let Some(Specifier::InlineString(text)) = &mut chain.specifier
        {
            text.push_str(&mark);
            message.value = secret.encode_to_vec();
        }
    }
}

/// Fields that come twice in a message are merged, and the last name holds.
fn make_scopes_unique(response: &mut DeltaDiscoveryResponse) {
    let name = format!("{HTTP} {}", response.nonce);
    let routes = RouteConfiguration {
        name,
        ..RouteConfiguration::default()
    };
    let marked = ScopedRouteConfiguration {
        route_configuration: Some(routes),
        ..Default::default()
    };
    for message in response
        .resources
        .iter_mut()
        .filter_map(|resource| resource.resource.as_mut())
    {
        message.value.extend_from_slice(&marked.encode_to_vec());
    }
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::config::route::v3::VirtualHost;
    use envoy_types::pb::envoy::service::discovery::v3::Resource;
    use envoy_types::pb::google::protobuf::Any;

    use super::*;

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
        let marked = |nonce: &str| {
            let any = Any {
                value: scope.encode_to_vec(),
                ..Any::default()
            };
            let resources = vec![Resource {
                resource: Some(any),
                ..Resource::default()
            }];
            let mut response = DeltaDiscoveryResponse {
                resources,
                nonce: nonce.to_owned(),
                ..Default::default()
            };
            make_unique(ResourceType::Scope, &mut response);
            response.resources.remove(0).resource.unwrap().value
        };
        assert_ne!(marked("1"), marked("2"));
        let mut read = ScopedRouteConfiguration::decode(marked("1").as_slice()).unwrap();
        let name = &mut read.route_configuration.as_mut().unwrap().name;
        assert_eq!(std::mem::replace(name, HTTP.to_owned()), "http 1");
        assert_eq!(read, scope);
    }

    #[test]
    fn a_certificate_is_the_same_but_for_what_is_behind_it() {
        let certificate = sluice_xds::Certificate {
            chain: "CHAIN".to_owned(),
            key: "KEY".to_owned(),
        };
        let secret = sluice_xds::render::secret("a/b", &certificate);
        let marked = |nonce: &str| {
            let any = Any {
                value: secret.encode_to_vec(),
                ..Any::default()
            };
            let resources = vec![Resource {
                resource: Some(any),
                ..Resource::default()
            }];
            let mut response = DeltaDiscoveryResponse {
                resources,
                nonce: nonce.to_owned(),
                ..Default::default()
            };
            make_unique(ResourceType::Secret, &mut response);
            Secret::decode(
                response
                    .resources
                    .remove(0)
                    .resource
                    .unwrap()
                    .value
                    .as_slice(),
            )
            .unwrap()
        };
        assert_ne!(marked("1"), marked("2"));
        let expected = sluice_xds::Certificate {
            chain: "CHAIN\n1\n".to_owned(),
            ..certificate
        };
        assert_eq!(marked("1"), sluice_xds::render::secret("a/b", &expected));
    }
}
