//! Route discovery of a connection manager.

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::scoped_routes::scope_key_builder::fragment_builder::header_value_extractor::ExtractType;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::scoped_routes::scope_key_builder::fragment_builder::{
    HeaderValueExtractor, Type,
};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::scoped_routes::scope_key_builder::FragmentBuilder;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::scoped_routes::{
    ConfigSpecifier, ScopeKeyBuilder,
};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::{
    Rds, ScopedRds, ScopedRoutes,
};

use super::Discovery;
use super::header::{append, set};
use super::proto::ads_awaited;
use crate::HTTP;
use crate::settings::SCOPE_HEADER;

pub(super) fn specifier(discovery: Discovery, table: &str) -> RouteSpecifier {
    match discovery {
        Discovery::Table => RouteSpecifier::Rds(Rds {
            config_source: Some(ads_awaited()),
            route_config_name: table.to_owned(),
        }),
        Discovery::Scopes => {
            let all = ScopedRds {
                scoped_rds_config_source: Some(ads_awaited()),
                ..ScopedRds::default()
            };
            RouteSpecifier::ScopedRoutes(ScopedRoutes {
                name: HTTP.to_owned(),
                scope_key_builder: Some(ScopeKeyBuilder {
                    fragments: vec![host_without_port()],
                }),
                config_specifier: Some(ConfigSpecifier::ScopedRds(all)),
                ..ScopedRoutes::default()
            })
        }
    }
}

/// Headers that have to be there before the first route is looked for. Not `:authority` itself: where no scope has its name,
/// another one is tried, and pods see the host that was asked for.
pub(super) fn before_routes(discovery: Discovery) -> Option<HeaderMutation> {
    (discovery == Discovery::Scopes).then(|| append(set(SCOPE_HEADER, "%REQ(:authority)%")))
}

fn host_without_port() -> FragmentBuilder {
    let extractor = HeaderValueExtractor {
        name: SCOPE_HEADER.to_owned(),
        element_separator: ":".to_owned(),
        extract_type: Some(ExtractType::Index(0)),
    };
    FragmentBuilder {
        r#type: Some(Type::HeaderValueExtractor(extractor)),
    }
}
