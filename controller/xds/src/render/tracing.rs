//! OpenTelemetry: the manager gives every request a span, a sampler and the route say whether it is sent.
//!
//! Envoy sends a span when both agree: the route's share of requests (all or none, below) and the sampler. Spans are sent
//! from a queue of each worker, and dropped when it is full: no request waits for a collector.

use std::collections::HashMap;
use std::net::IpAddr;

use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::cluster::v3::cluster::{ClusterDiscoveryType, DiscoveryType, DnsLookupFamily};
use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::core::v3::grpc_service::{EnvoyGrpc, TargetSpecifier};
use envoy_types::pb::envoy::config::core::v3::{GrpcService, Http2ProtocolOptions, TypedExtensionConfig};
use envoy_types::pb::envoy::config::endpoint::v3::lb_endpoint::HostIdentifier;
use envoy_types::pb::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint, LbEndpoint, LocalityLbEndpoints,
};
use envoy_types::pb::envoy::config::route::v3::Tracing as RouteTracing;
use envoy_types::pb::envoy::config::trace::v3::tracing::Http;
use envoy_types::pb::envoy::config::trace::v3::tracing::http::ConfigType;
use envoy_types::pb::envoy::config::trace::v3::OpenTelemetryConfig;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::RequestIdExtension;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::Tracing as ManagerTracing;
use envoy_types::pb::envoy::extensions::request_id::uuid::v3::UuidRequestIdConfig;
use envoy_types::pb::envoy::extensions::tracers::opentelemetry::samplers::v3::{
    AlwaysOnSamplerConfig, ParentBasedSamplerConfig, TraceIdRatioBasedSamplerConfig,
};
use envoy_types::pb::envoy::extensions::upstreams::http::v3::HttpProtocolOptions;
use envoy_types::pb::envoy::extensions::upstreams::http::v3::http_protocol_options::explicit_http_config::ProtocolConfig;
use envoy_types::pb::envoy::extensions::upstreams::http::v3::http_protocol_options::{
    ExplicitHttpConfig, UpstreamProtocolOptions,
};
use envoy_types::pb::envoy::r#type::tracing::v3::CustomTag;
use envoy_types::pb::envoy::r#type::tracing::v3::custom_tag::Type as Tag;
use envoy_types::pb::envoy::r#type::v3::fractional_percent::DenominatorType;
use envoy_types::pb::envoy::r#type::v3::{FractionalPercent, Percent};
use envoy_types::pb::google::protobuf::BoolValue;
use envoy_types::util::pack_any;
use prost::Name;
use sluice_ir::{Collector, GlobalConfig, Sampler, SpanPolicy, Tracing};

use super::format::format;
use super::header::remove;
use super::proto::{any, extension, host_address, number, seconds};
use crate::settings::TRACES_CLUSTER;

/// W3C Trace Context.
const CONTEXT: [&str; 2] = ["traceparent", "tracestate"];

/// Tags of ingress-nginx's spans that Envoy does not write: name and format. Envoy's own names for the method and the status
/// are the same.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("http.host", "%REQ(:AUTHORITY)%"),
    ("http.scheme", "%REQ(X-FORWARDED-PROTO)%"),
    ("http.target", "%DYNAMIC_METADATA(sluice.log:uri)%"),
    ("http.user_agent", "%REQ(USER-AGENT)%"),
    ("net.host.port", "%DOWNSTREAM_LOCAL_PORT%"),
    ("net.peer.ip", "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"),
    ("net.peer.port", "%DOWNSTREAM_REMOTE_PORT%"),
];

/// Tracing of the connection manager.
pub(super) fn tracing(tracing: &Tracing) -> ManagerTracing {
    let tags = ATTRIBUTES.iter().map(|(tag, value)| CustomTag {
        tag: (*tag).to_owned(),
        r#type: Some(Tag::Value((*value).to_owned())),
    });
    // ingress-nginx: without a name of their own, spans have the route's.
    let operation = tracing
        .operation
        .as_ref()
        .map_or_else(|| "%ROUTE_NAME%".to_owned(), format);
    ManagerTracing {
        overall_sampling: Some(Percent {
            value: if tracing.enabled_by_default {
                100.0
            } else {
                0.0
            },
        }),
        custom_tags: tags.collect(),
        provider: Some(provider(tracing)),
        operation,
        ..ManagerTracing::default()
    }
}

/// Tracing of a route that differs; every other one costs nothing.
pub(super) fn of_route(traced: &SpanPolicy, global: &GlobalConfig) -> Option<RouteTracing> {
    let everywhere = global.tracing.as_ref()?.enabled_by_default;
    let SpanPolicy {
        enabled,
        operation,
        // Headers of clients are read before the route is known.
        trust_incoming_context: _,
    } = traced;
    if enabled.is_none() && operation.is_none() {
        return None;
    }
    let numerator = if enabled.unwrap_or(everywhere) {
        100
    } else {
        0
    };
    Some(RouteTracing {
        overall_sampling: Some(FractionalPercent {
            numerator,
            ..FractionalPercent::default()
        }),
        operation: operation.clone().unwrap_or_default(),
        ..RouteTracing::default()
    })
}

/// Removes trace headers of clients before anything reads them.
pub(super) fn early_header_mutations(global: &GlobalConfig) -> Vec<HeaderMutation> {
    let distrusts = global
        .tracing
        .as_ref()
        .is_some_and(|tracing| !tracing.trust_incoming_context);
    if distrusts {
        CONTEXT.map(remove).into()
    } else {
        Vec::new()
    }
}

/// Envoy would write into a request's id whether it has a span.
pub(super) fn request_ids() -> RequestIdExtension {
    let unchanged = UuidRequestIdConfig {
        pack_trace_reason: Some(BoolValue { value: false }),
        ..Default::default()
    };
    RequestIdExtension {
        typed_config: any(unchanged),
    }
}

fn provider(tracing: &Tracing) -> Http {
    let collector = EnvoyGrpc {
        cluster_name: TRACES_CLUSTER.to_owned(),
        ..EnvoyGrpc::default()
    };
    let config = OpenTelemetryConfig {
        grpc_service: Some(GrpcService {
            target_specifier: Some(TargetSpecifier::EnvoyGrpc(collector)),
            timeout: seconds(10),
            ..GrpcService::default()
        }),
        service_name: tracing.service.clone(),
        sampler: sampler(tracing),
        max_cache_size: number(tracing.max_queue_size),
        ..OpenTelemetryConfig::default()
    };
    Http {
        name: "envoy.tracers.opentelemetry".to_owned(),
        config_type: any(config).map(ConfigType::TypedConfig),
    }
}

/// Envoy's own way is ingress-nginx's default: a trace that is there goes on as it was begun, and a new one is kept. Only then
/// a route that is found later, behind a scope, is asked again.
fn sampler(tracing: &Tracing) -> Option<TypedExtensionConfig> {
    let own = match tracing.sampler {
        Sampler::Always if tracing.follow_parent => return None,
        Sampler::Always => extension(
            "envoy.tracers.opentelemetry.samplers.always_on",
            AlwaysOnSamplerConfig {},
        ),
        Sampler::Never => by_ratio(0),
        Sampler::Millionths(share) => by_ratio(share),
    };
    if !tracing.follow_parent {
        return Some(own);
    }
    let parent_based = ParentBasedSamplerConfig {
        wrapped_sampler: Some(own),
    };
    Some(extension(
        "envoy.tracers.opentelemetry.samplers.parent_based",
        parent_based,
    ))
}

fn by_ratio(numerator: u32) -> TypedExtensionConfig {
    let share = FractionalPercent {
        numerator,
        denominator: DenominatorType::Million.into(),
    };
    let ratio = TraceIdRatioBasedSamplerConfig {
        sampling_percentage: Some(share),
    };
    extension(
        "envoy.tracers.opentelemetry.samplers.trace_id_ratio_based",
        ratio,
    )
}

/// The cluster of who takes spans: CDS.
#[must_use]
pub fn collector(collector: &Collector) -> Cluster {
    let Collector { host, port } = collector;
    let endpoint = Endpoint {
        address: Some(host_address(host, *port)),
        ..Endpoint::default()
    };
    let endpoint = LbEndpoint {
        host_identifier: Some(HostIdentifier::Endpoint(endpoint)),
        ..LbEndpoint::default()
    };
    let locality = LocalityLbEndpoints {
        lb_endpoints: vec![endpoint],
        ..LocalityLbEndpoints::default()
    };
    let is_name = host.parse::<IpAddr>().is_err();
    let kind = if is_name {
        DiscoveryType::StrictDns
    } else {
        DiscoveryType::Static
    };
    let protocol = HttpProtocolOptions::type_url()
        .trim_start_matches("type.googleapis.com/")
        .to_owned();
    Cluster {
        name: TRACES_CLUSTER.to_owned(),
        connect_timeout: seconds(5),
        cluster_discovery_type: Some(ClusterDiscoveryType::Type(kind.into())),
        // Both, and whichever answers.
        dns_lookup_family: DnsLookupFamily::All.into(),
        load_assignment: Some(ClusterLoadAssignment {
            cluster_name: TRACES_CLUSTER.to_owned(),
            endpoints: vec![locality],
            ..ClusterLoadAssignment::default()
        }),
        typed_extension_protocol_options: HashMap::from([(protocol, http2())]),
        ..Cluster::default()
    }
}

fn http2() -> envoy_types::pb::google::protobuf::Any {
    let spoken = ProtocolConfig::Http2ProtocolOptions(Http2ProtocolOptions::default());
    let spoken = ExplicitHttpConfig {
        protocol_config: Some(spoken),
    };
    pack_any(HttpProtocolOptions {
        upstream_protocol_options: Some(UpstreamProtocolOptions::ExplicitHttpConfig(spoken)),
        ..HttpProtocolOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global(everywhere: bool, trusts_clients: bool) -> GlobalConfig {
        let collector = Collector {
            host: "otel.test".to_owned(),
            port: 4317,
        };
        let tracing = Tracing {
            enabled_by_default: everywhere,
            trust_incoming_context: trusts_clients,
            ..Tracing::to(collector)
        };
        GlobalConfig {
            tracing: Some(tracing),
            ..GlobalConfig::default()
        }
    }

    fn share(on: Option<bool>, global: &GlobalConfig) -> Option<u32> {
        let traced = SpanPolicy {
            enabled: on,
            ..SpanPolicy::default()
        };
        Some(of_route(&traced, global)?.overall_sampling?.numerator)
    }

    #[test]
    fn only_a_route_that_differs_says_something() {
        assert_eq!(share(None, &global(true, true)), None);
        assert_eq!(share(Some(false), &global(true, true)), Some(0));
        assert_eq!(share(Some(true), &global(false, true)), Some(100));
        assert_eq!(
            share(Some(true), &GlobalConfig::default()),
            None,
            "no collector takes spans"
        );
    }

    #[test]
    fn a_sampler_is_there_where_envoys_own_way_is_not_the_same() {
        let named = |sampler, as_parent| {
            let tracing = Tracing {
                sampler,
                follow_parent: as_parent,
                ..global(true, true).tracing.unwrap()
            };
            let name = super::sampler(&tracing)?.name;
            name.rsplit('.').next().map(str::to_owned)
        };
        assert_eq!(named(Sampler::Always, true), None);
        assert_eq!(named(Sampler::Always, false).as_deref(), Some("always_on"));
        assert_eq!(named(Sampler::Never, true).as_deref(), Some("parent_based"));
        assert_eq!(
            named(Sampler::Millionths(1), false).as_deref(),
            Some("trace_id_ratio_based")
        );
    }

    #[test]
    fn a_name_alone_does_not_switch_spans_on_or_off() {
        let named = SpanPolicy {
            operation: Some("pay".to_owned()),
            ..SpanPolicy::default()
        };
        for everywhere in [true, false] {
            let route = of_route(&named, &global(everywhere, true)).unwrap();
            assert_eq!(route.operation, "pay");
            assert_eq!(
                route.overall_sampling.unwrap().numerator,
                if everywhere { 100 } else { 0 }
            );
        }
    }

    #[test]
    fn a_trace_of_a_client_is_forgotten_only_where_it_is_not_believed() {
        assert!(early_header_mutations(&global(true, true)).is_empty());
        assert_eq!(
            early_header_mutations(&global(true, false)),
            CONTEXT.map(remove)
        );
        assert!(
            early_header_mutations(&GlobalConfig::default()).is_empty(),
            "without spans of our own it passes"
        );
    }

    #[test]
    fn a_name_is_looked_up_and_an_address_is_not() {
        let kind = |host: &str| {
            let cluster = collector(&Collector {
                host: host.to_owned(),
                port: 4317,
            });
            cluster.cluster_discovery_type
        };
        let expected = |kind: DiscoveryType| Some(ClusterDiscoveryType::Type(kind.into()));
        assert_eq!(kind("otel.test"), expected(DiscoveryType::StrictDns));
        assert_eq!(kind("::1"), expected(DiscoveryType::Static));
    }
}
