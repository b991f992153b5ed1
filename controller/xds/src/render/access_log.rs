//! Each request is a line of JSON on Envoy's standard output, under the names of nginx's variables where the meaning is
//! the same.
//!
//! JSON, because a client writes parts of it: a quote in a text format would end the field that it stands in.

use std::collections::BTreeMap;

use envoy_types::pb::envoy::config::accesslog::v3::access_log_filter::FilterSpecifier;
use envoy_types::pb::envoy::config::accesslog::v3::{
    AccessLog, AccessLogFilter, ExtensionFilter, access_log, extension_filter,
};
use envoy_types::pb::envoy::config::core::v3::{
    SubstitutionFormatString, substitution_format_string::Format,
};
use envoy_types::pb::envoy::extensions::access_loggers::filters::cel::v3::ExpressionFilter;
use envoy_types::pb::envoy::extensions::access_loggers::stream::v3::{StdoutAccessLog, stdout_access_log};
use envoy_types::pb::google::protobuf::{Struct, Value, value};

use super::wire::any;

/// Name and format.
const FIELDS: &[(&str, &str)] = &[
    ("time_iso8601", "%START_TIME%"),
    ("remote_addr", "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"),
    ("scheme", "%REQ(:SCHEME)%"),
    ("host", "%REQ(:AUTHORITY)%"),
    ("request_method", "%REQ(:METHOD)%"),
    ("request_uri", "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%"),
    ("server_protocol", "%PROTOCOL%"),
    ("status", "%RESPONSE_CODE%"),
    ("request_length", "%BYTES_RECEIVED%"),
    ("body_bytes_sent", "%BYTES_SENT%"),
    ("request_milliseconds", "%DURATION%"),
    ("http_referer", "%REQ(REFERER)%"),
    ("http_user_agent", "%REQ(USER-AGENT)%"),
    ("req_id", "%REQ(X-REQUEST-ID)%"),
    ("location", "%ROUTE_NAME%"),
    ("upstream_addr", "%UPSTREAM_HOST%"),
    ("upstream_attempts", "%UPSTREAM_REQUEST_ATTEMPT_COUNT%"),
    ("response_flags", "%RESPONSE_FLAGS%"),
];

/// `enable-access-log: "false"` is in the route's metadata; a request that no route took has none, and is written.
const LOGGED: &str = "!has(xds.route_metadata) || !('sluice' in xds.route_metadata.filter_metadata)";

pub(super) fn to_stdout() -> AccessLog {
    let format = SubstitutionFormatString { format: Some(Format::JsonFormat(line())), ..Default::default() };
    let log =
        StdoutAccessLog { access_log_format: Some(stdout_access_log::AccessLogFormat::LogFormat(format)) };
    AccessLog {
        name: "envoy.access_loggers.stdout".to_owned(),
        filter: Some(AccessLogFilter { filter_specifier: Some(FilterSpecifier::ExtensionFilter(wanted())) }),
        config_type: any(log).map(access_log::ConfigType::TypedConfig),
    }
}

fn line() -> Struct {
    let text = |format: &str| Value { kind: Some(value::Kind::StringValue(format.to_owned())) };
    let fields: BTreeMap<String, Value> =
        FIELDS.iter().map(|(name, format)| ((*name).to_owned(), text(format))).collect();
    Struct { fields: fields.into_iter().collect() }
}

fn wanted() -> ExtensionFilter {
    let expression = ExpressionFilter { expression: LOGGED.to_owned(), ..ExpressionFilter::default() };
    ExtensionFilter {
        name: "envoy.access_loggers.extension_filters.cel".to_owned(),
        config_type: any(expression).map(extension_filter::ConfigType::TypedConfig),
    }
}
