//! Pages of responses that Envoy itself makes, as nginx has them: redirects and errors are HTML with their status as title.

use envoy_types::pb::envoy::config::accesslog::v3::access_log_filter::FilterSpecifier;
use envoy_types::pb::envoy::config::accesslog::v3::comparison_filter::Op;
use envoy_types::pb::envoy::config::accesslog::v3::{
    AccessLogFilter, ComparisonFilter, HeaderFilter, ResponseFlagFilter, StatusCodeFilter,
};
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::substitution_format_string::Format;
use envoy_types::pb::envoy::config::core::v3::{
    DataSource, RuntimeUInt32, SubstitutionFormatString,
};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::{
    LocalReplyConfig, ResponseMapper,
};

use super::access_log::where_holds;
use super::header::set;
use super::proto::number;
use super::route::matching::matches;

/// Titles of the statuses that clients see most. Each host with TLS of its own has a copy of all of these, so the others have
/// their number alone. As in nginx, no page says what is wrong.
const TITLES: [(u32, &str); 9] = [
    (308, "308 Permanent Redirect"),
    (400, "400 Bad Request"),
    (401, "401 Authorization Required"),
    (403, "403 Forbidden"),
    (404, "404 Not Found"),
    (413, "413 Request Entity Too Large"),
    (500, "500 Internal Server Error"),
    (503, "503 Service Temporarily Unavailable"),
    (504, "504 Gateway Time-out"),
];
const BAD_GATEWAY: &str = "502 Bad Gateway";
/// Metadata of a route that answers with a text of its own.
pub(super) const TEXT_METADATA: &str = "sluice.text";

/// The mappers of a connection manager; Envoy takes the first whose filter matches.
pub(super) fn pages() -> LocalReplyConfig {
    // Who says that it speaks gRPC gets the status 200 and the text as `grpc-message`, whatever the route is: Envoy has decided that
    // before anything else looks at a request, and writes it over the status of a mapper. No cache shall keep that for others.
    let grpc = ResponseMapper {
        filter: Some(is_grpc()),
        headers_to_add: vec![set("cache-control", "no-store")],
        ..ResponseMapper::default()
    };
    let text = ResponseMapper {
        filter: Some(where_holds(format!(
            "has(xds.route_metadata) && '{TEXT_METADATA}' in xds.route_metadata.filter_metadata"
        ))),
        ..ResponseMapper::default()
    };
    let unreachable = ResponseMapper {
        status_code: number(502),
        ..page(has_flag(), BAD_GATEWAY)
    };
    let titled = TITLES
        .iter()
        .map(|(status, title)| page(has_status(Op::Eq, *status), title));
    // Clients read no body of it: a page would be read as the response to their next request.
    let not_modified = ResponseMapper {
        filter: Some(has_status(Op::Eq, 304)),
        ..ResponseMapper::default()
    };
    let others = page(has_status(Op::Ge, 300), "%RESPONSE_CODE%");
    LocalReplyConfig {
        mappers: [grpc, text, unreachable]
            .into_iter()
            .chain(titled)
            .chain([not_modified, others])
            .collect(),
        ..LocalReplyConfig::default()
    }
}

fn page(filter: AccessLogFilter, title: &str) -> ResponseMapper {
    let html = format!(
        "<html><head><title>{title}</title></head><body><center><h1>{title}</h1></center></body></html>\n"
    );
    ResponseMapper {
        filter: Some(filter),
        body_format_override: Some(SubstitutionFormatString {
            content_type: "text/html".to_owned(),
            format: Some(Format::TextFormatSource(DataSource {
                specifier: Some(Specifier::InlineString(html)),
                ..DataSource::default()
            })),
            ..SubstitutionFormatString::default()
        }),
        ..ResponseMapper::default()
    }
}

fn has_status(op: Op, status: u32) -> AccessLogFilter {
    let comparison = ComparisonFilter {
        op: op.into(),
        value: Some(RuntimeUInt32 {
            default_value: status,
            runtime_key: format!("sluice.page.{status}"),
        }),
    };
    filter(FilterSpecifier::StatusCodeFilter(StatusCodeFilter {
        comparison: Some(comparison),
    }))
}

/// Connections to pods that fail, or end in the middle: to Envoy that is 503, to nginx 502.
fn has_flag() -> AccessLogFilter {
    filter(FilterSpecifier::ResponseFlagFilter(ResponseFlagFilter {
        flags: ["UC", "UF", "UPE", "UR"].map(str::to_owned).into(),
    }))
}

/// As Envoy sees it.
fn is_grpc() -> AccessLogFilter {
    filter(FilterSpecifier::HeaderFilter(HeaderFilter {
        header: Some(matches("content-type", r"application/grpc(?:\+.*)?")),
    }))
}

fn filter(specifier: FilterSpecifier) -> AccessLogFilter {
    AccessLogFilter {
        filter_specifier: Some(specifier),
    }
}
