//! Messages as JSON that a person can review.
//!
//! prost knows neither protobuf's JSON nor a message's fields at run time, but every message prints itself for
//! debugging, and that text is a tree: one line for each node, indented below its parent. This reads it back, decodes
//! what is packed in an `Any`, and leaves out what is not set. It begins with the bytes that are sent, so it shows
//! those and nothing else.
//!
//! It differs from protobuf's own JSON: enum values are named as in Rust (`KeepUnchanged`).

use std::fmt::Debug;
use std::iter::Peekable;

use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::endpoint::v3::ClusterLoadAssignment;
use envoy_types::pb::envoy::config::listener::v3::Listener;
use envoy_types::pb::envoy::config::route::v3::{
    FilterConfig, RouteConfiguration, ScopedRouteConfiguration,
};
use envoy_types::pb::envoy::config::trace::v3::OpenTelemetryConfig;
use envoy_types::pb::envoy::extensions::access_loggers::filters::cel::v3::ExpressionFilter;
use envoy_types::pb::envoy::extensions::access_loggers::grpc::v3::HttpGrpcAccessLogConfig;
use envoy_types::pb::envoy::extensions::access_loggers::stream::v3::{
    StderrAccessLog, StdoutAccessLog,
};
use envoy_types::pb::envoy::extensions::compression::brotli::compressor::v3::Brotli;
use envoy_types::pb::envoy::extensions::compression::gzip::compressor::v3::Gzip;
use envoy_types::pb::envoy::extensions::filters::http::body_size_limit::v3::BodySizeLimit;
use envoy_types::pb::envoy::extensions::filters::http::composite::v3::{
    Composite, CompositePerRoute, ExecuteFilterAction,
};
use envoy_types::pb::envoy::extensions::filters::http::compressor::v3::Compressor;
use envoy_types::pb::envoy::extensions::filters::http::custom_response::v3::CustomResponse;
use envoy_types::pb::envoy::extensions::filters::http::ext_authz::v3::ExtAuthz;
use envoy_types::pb::envoy::extensions::filters::http::fault::v3::HttpFault;
use envoy_types::pb::envoy::extensions::filters::http::filter_chain::v3::{
    FilterChainConfig, FilterChainConfigPerRoute,
};
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::HeaderMutation;
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::Config as HeaderToMetadata;
use envoy_types::pb::envoy::extensions::filters::http::local_ratelimit::v3::LocalRateLimit;
use envoy_types::pb::envoy::extensions::filters::http::rbac::v3::Rbac;
use envoy_types::pb::envoy::extensions::filters::http::router::v3::Router;
use envoy_types::pb::envoy::extensions::filters::http::upstream_codec::v3::UpstreamCodec;
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::filters::listener::proxy_protocol::v3::ProxyProtocol;
use envoy_types::pb::envoy::extensions::filters::listener::tls_inspector::v3::TlsInspector;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpConnectionManager;
use envoy_types::pb::envoy::extensions::filters::network::tcp_proxy::v3::TcpProxy;
use envoy_types::pb::envoy::extensions::filters::udp::udp_proxy::v3::{
    Route as UdpRoute, UdpProxyConfig,
};
use envoy_types::pb::envoy::extensions::http::custom_response::local_response_policy::v3::LocalResponsePolicy;
use envoy_types::pb::envoy::extensions::http::custom_response::redirect_policy::v3::RedirectPolicy;
use envoy_types::pb::envoy::extensions::http::early_header_mutation::header_mutation::v3::HeaderMutation as EarlyHeaderMutation;
use envoy_types::pb::envoy::extensions::http::original_ip_detection::xff::v3::XffConfig;
use envoy_types::pb::envoy::extensions::load_balancing_policies::override_host::v3::OverrideHost;
use envoy_types::pb::envoy::extensions::load_balancing_policies::round_robin::v3::RoundRobin;
use envoy_types::pb::envoy::extensions::request_id::uuid::v3::UuidRequestIdConfig;
use envoy_types::pb::envoy::extensions::tracers::opentelemetry::samplers::v3::{
    AlwaysOnSamplerConfig, ParentBasedSamplerConfig, TraceIdRatioBasedSamplerConfig,
};
use envoy_types::pb::envoy::extensions::transport_sockets::proxy_protocol::v3::ProxyProtocolUpstreamTransport;
use envoy_types::pb::envoy::extensions::transport_sockets::raw_buffer::v3::RawBuffer;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    DownstreamTlsContext, Secret, UpstreamTlsContext,
};
use envoy_types::pb::envoy::extensions::upstreams::http::v3::HttpProtocolOptions;
use envoy_types::pb::envoy::r#type::matcher::v3::HttpResponseStatusCodeMatchInput;
use envoy_types::pb::google::protobuf::BytesValue;
use prost::{Message, Name};
use serde_json::{Map, Value, json};

/// A packed message as JSON. Of a type that is not known here: its bytes.
pub(crate) fn decode(type_url: &str, bytes: &[u8]) -> Value {
    if type_url == Secret::type_url() {
        // A private key is nobody's to read, not even in part.
        return json!({"@type": type_url, "content": "[redacted]"});
    }
    let fields = KNOWN.iter().find_map(|known| known(type_url, bytes));
    let mut fields =
        fields.unwrap_or_else(|| Map::from_iter([("bytes".to_owned(), text_of(bytes))]));
    fields.insert("@type".to_owned(), type_url.into());
    Value::Object(fields)
}

type Known = fn(&str, &[u8]) -> Option<Map<String, Value>>;

/// Every message that a renderer packs.
const KNOWN: &[Known] = &[
    fields::<AlwaysOnSamplerConfig>,
    fields::<OpenTelemetryConfig>,
    fields::<ParentBasedSamplerConfig>,
    fields::<TraceIdRatioBasedSamplerConfig>,
    fields::<UuidRequestIdConfig>,
    fields::<BodySizeLimit>,
    fields::<Brotli>,
    fields::<BytesValue>,
    fields::<Cluster>,
    fields::<ClusterLoadAssignment>,
    fields::<Composite>,
    fields::<CompositePerRoute>,
    fields::<Compressor>,
    fields::<CustomResponse>,
    fields::<DownstreamTlsContext>,
    fields::<EarlyHeaderMutation>,
    fields::<ExecuteFilterAction>,
    fields::<ExpressionFilter>,
    fields::<ExtAuthz>,
    fields::<FilterChainConfig>,
    fields::<FilterChainConfigPerRoute>,
    fields::<FilterConfig>,
    fields::<HeaderMutation>,
    fields::<HeaderToMetadata>,
    fields::<HttpConnectionManager>,
    fields::<HttpGrpcAccessLogConfig>,
    fields::<HttpProtocolOptions>,
    fields::<Listener>,
    fields::<LocalRateLimit>,
    fields::<OverrideHost>,
    fields::<Rbac>,
    fields::<RoundRobin>,
    fields::<RouteConfiguration>,
    fields::<ScopedRouteConfiguration>,
    fields::<Gzip>,
    fields::<HttpFault>,
    fields::<HttpResponseStatusCodeMatchInput>,
    fields::<LocalResponsePolicy>,
    fields::<ProxyProtocolUpstreamTransport>,
    fields::<RawBuffer>,
    fields::<RedirectPolicy>,
    fields::<Router>,
    fields::<StderrAccessLog>,
    fields::<StdoutAccessLog>,
    fields::<TcpProxy>,
    fields::<TypedExtensionConfig>,
    fields::<UdpProxyConfig>,
    fields::<UdpRoute>,
    fields::<TlsInspector>,
    fields::<UpstreamCodec>,
    fields::<UpstreamTlsContext>,
    fields::<ProxyProtocol>,
    fields::<Wasm>,
    fields::<XffConfig>,
];

/// The fields of a message that are not as in an empty one.
fn fields<M: Message + Name + Default + Debug>(
    type_url: &str,
    bytes: &[u8],
) -> Option<Map<String, Value>> {
    let message = (type_url == M::type_url()).then(|| M::decode(bytes).ok())??;
    let empty = parse(&format!("{:#?}", M::default()));
    let Value::Object(mut fields) = parse(&format!("{message:#?}")) else {
        return Some(Map::new());
    };
    fields.retain(|name, value| empty.get(name) != Some(value));
    Some(fields)
}

/// Messages that print as a name alone, as an enum's value does.
const WITHOUT_FIELDS: &[&str] = &[
    "AggregatedConfigSource",
    "AlwaysOnSamplerConfig",
    "GoogleRe2",
    "HttpResponseStatusCodeMatchInput",
    "RawBuffer",
    "SanitizationConfig",
    "UpstreamCodec",
];

type Lines<'a> = Peekable<std::str::Lines<'a>>;

/// A line and the lines below it.
struct Node<'a> {
    line: &'a str,
    children: Vec<Node<'a>>,
}

fn parse(text: &str) -> Value {
    let nodes = nodes(&mut text.lines().peekable(), 0);
    nodes
        .first()
        .map_or(Value::Null, |root| value(root, root.line))
}

fn nodes<'a>(lines: &mut Lines<'a>, depth: usize) -> Vec<Node<'a>> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut nodes = Vec::new();
    while let Some(line) = lines.next_if(|line| indent(line) >= depth) {
        let mut children = Vec::new();
        if line.ends_with(['(', '[', '{']) {
            children = self::nodes(lines, indent(line) + 1);
            // The line that closes it.
            lines.next();
        }
        nodes.push(Node {
            line: line.trim().trim_end_matches(','),
            children,
        });
    }
    nodes
}

/// Value of a field, or of an element of a list.
fn value(node: &Node<'_>, text: &str) -> Value {
    match text.strip_suffix(['(', '[', '{']).map(str::trim_end) {
        Some("Some") => inner(node),
        Some("") if text == "[" => list(node),
        Some(name) if text.ends_with('{') => structure(node, name),
        // A variant of a oneof that stands in a list.
        Some(variant) => Value::Object(Map::from_iter([(snake_case(variant), inner(node))])),
        None if text == "None" => Value::Null,
        None if WITHOUT_FIELDS.contains(&text) => json!({}),
        // Not every escape of Rust is one of JSON; then the text is shown as Rust writes it.
        None => serde_json::from_str(text).unwrap_or_else(|_| text.trim_matches('"').into()),
    }
}

/// Content of a `Some` or a variant.
fn inner(node: &Node<'_>) -> Value {
    node.children
        .first()
        .map_or(Value::Null, |inner| value(inner, inner.line))
}

fn structure(node: &Node<'_>, name: &str) -> Value {
    let field = |name: &str| {
        node.children
            .iter()
            .find(|child| split(child.line).0 == name)
    };
    let raw = |name| field(name).map_or(Value::Null, |child| value(child, split(child.line).1));
    match name {
        "Any" => {
            let bytes = field("value").map(|child| {
                child
                    .children
                    .iter()
                    .filter_map(|byte| byte.line.parse().ok())
            });
            let bytes: Vec<u8> = bytes.into_iter().flatten().collect();
            decode(raw("type_url").as_str().unwrap_or_default(), &bytes)
        }
        "Duration" => duration(&raw("seconds"), &raw("nanos")),
        "BoolValue" | "UInt32Value" => raw("value"),
        _ => Value::Object(node.children.iter().filter_map(entry).collect()),
    }
}

/// A field that is set, or an entry of a map.
fn entry(node: &Node<'_>) -> Option<(String, Value)> {
    let (name, text) = split(node.line);
    // A oneof shows as the variant that is set, as in protobuf's JSON.
    if let ("Some(", Some(variant)) = (text, node.children.first())
        && let Some(name) = variant.line.strip_suffix('(')
    {
        return Some((snake_case(name), inner(variant)));
    }
    let unset = ["None", "false", "0", "0.0", "\"\"", "[]", "{}"].contains(&text);
    (!unset).then(|| (name.to_owned(), value(node, text)))
}

/// A field's name, or a map's key, and what follows.
fn split(line: &str) -> (&str, &str) {
    match line.strip_prefix('"') {
        Some(key) => key.split_once("\": ").unwrap_or((key, "")),
        None => line
            .trim_start_matches("r#")
            .split_once(": ")
            .unwrap_or((line, "")),
    }
}

/// As protobuf's JSON writes it.
fn duration(seconds: &Value, nanos: &Value) -> Value {
    let (seconds, millis) = (
        seconds.as_i64().unwrap_or_default(),
        nanos.as_i64().unwrap_or_default() / 1_000_000,
    );
    if millis == 0 {
        format!("{seconds}s").into()
    } else {
        format!("{seconds}.{millis:03}s").into()
    }
}

/// Bytes are lists of numbers, like any other.
fn list(node: &Node<'_>) -> Value {
    let bytes: Option<Vec<u8>> = node
        .children
        .iter()
        .map(|item| item.line.parse().ok())
        .collect();
    match bytes {
        Some(bytes) => text_of(&bytes),
        None => node
            .children
            .iter()
            .map(|item| value(item, item.line))
            .collect(),
    }
}

fn text_of(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => format!("{} bytes", bytes.len()).into(),
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (position, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && position > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::config::core::v3::http_protocol_options::HeadersWithUnderscoresAction;
    use envoy_types::pb::envoy::config::core::v3::{
        HttpProtocolOptions as Common, TypedExtensionConfig,
    };
    use envoy_types::pb::envoy::config::route::v3::RouteConfiguration;
    use envoy_types::pb::google::protobuf::{Duration, UInt32Value};
    use envoy_types::util::pack_any;

    use super::*;

    fn shown<M: Message + Name>(message: &M) -> Value {
        decode(&M::type_url(), &message.encode_to_vec())
    }

    #[test]
    fn what_is_packed_is_unpacked_and_what_is_unset_is_left_out() {
        let common = Common {
            idle_timeout: Some(Duration {
                seconds: 1,
                nanos: 500_000_000,
            }),
            max_headers_count: Some(UInt32Value { value: 0 }),
            headers_with_underscores_action: HeadersWithUnderscoresAction::DropHeader.into(),
            ..Common::default()
        };
        let options = HttpProtocolOptions {
            common_http_protocol_options: Some(common),
            ..Default::default()
        };
        let type_url = HttpProtocolOptions::type_url();
        let config = TypedExtensionConfig {
            name: "x".to_owned(),
            typed_config: Some(pack_any(options)),
        };
        assert_eq!(
            shown(&config),
            json!({
                "@type": TypedExtensionConfig::type_url(),
                "name": "x",
                "typed_config": {
                    "@type": type_url,
                    "common_http_protocol_options": {
                        "headers_with_underscores_action": "DropHeader",
                        "idle_timeout": "1.500s",
                        "max_headers_count": 0,
                    },
                },
            })
        );
    }

    #[test]
    fn text_that_looks_like_structure_stays_text() {
        for name in ["a(", "[", "}", "\"", "a\nb: [", "x: Some(", "None", "0"] {
            let routes = RouteConfiguration {
                name: name.to_owned(),
                ..RouteConfiguration::default()
            };
            assert_eq!(
                shown(&routes),
                json!({"@type": RouteConfiguration::type_url(), "name": name})
            );
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_counted() {
        let bytes = BytesValue {
            value: vec![0xff, 0xfe],
        };
        assert_eq!(shown(&bytes)["value"], "2 bytes");
    }
}
