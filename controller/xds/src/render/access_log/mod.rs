//! Each request, and each connection without HTTP, is a line on Envoy's standard output: as the operator wants it, or of JSON
//! under the names of nginx's variables where the meaning is the same.
//!
//! JSON, because a client writes parts of it: a quote in a text format would end the field that it stands in.

mod facts;

use std::collections::BTreeMap;

use envoy_types::pb::envoy::config::accesslog::v3::access_log_filter::FilterSpecifier;
use envoy_types::pb::envoy::config::accesslog::v3::{
    AccessLog, AccessLogFilter, ExtensionFilter, access_log, extension_filter,
};
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::substitution_format_string::Format;
use envoy_types::pb::envoy::config::core::v3::{DataSource, SubstitutionFormatString};
use envoy_types::pb::envoy::extensions::access_loggers::filters::cel::v3::ExpressionFilter;
use envoy_types::pb::envoy::extensions::access_loggers::stream::v3::{
    StderrAccessLog, StdoutAccessLog, stderr_access_log, stdout_access_log,
};
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::Config as HeaderToMetadata;
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::config::{
    KeyValuePair, Rule,
};
use envoy_types::pb::google::protobuf::{Struct, Value, value};
use sluice_ir::{LogFormat, LogTarget};

use super::proto::any;
use crate::Settings;

/// Of a request: name and format.
const OF_REQUEST: &[(&str, &str)] = &[
    ("time_iso8601", "%START_TIME%"),
    ("remote_addr", "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"),
    ("scheme", "%REQ(:SCHEME)%"),
    ("host", "%REQ(:AUTHORITY)%"),
    ("request_method", "%REQ(:METHOD)%"),
    ("request_uri", "%DYNAMIC_METADATA(sluice.log:uri)%"),
    ("server_protocol", "%PROTOCOL%"),
    ("status", "%RESPONSE_CODE%"),
    ("request_length", "%BYTES_RECEIVED%"),
    ("body_bytes_sent", "%BYTES_SENT%"),
    ("request_milliseconds", "%DURATION%"),
    ("http_referer", "%REQ(REFERER)%"),
    ("http_user_agent", "%REQ(USER-AGENT)%"),
    ("req_id", "%REQ(X-REQUEST-ID)%"),
    ("route", "%ROUTE_NAME%"),
    ("upstream_addr", "%UPSTREAM_HOST%"),
    ("upstream_attempts", "%UPSTREAM_REQUEST_ATTEMPT_COUNT%"),
    ("response_flags", "%RESPONSE_FLAGS%"),
];

/// Of a connection without HTTP.
const OF_CONNECTION: &[(&str, &str)] = &[
    ("time_iso8601", "%START_TIME%"),
    ("remote_addr", "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"),
    ("server_port", "%DOWNSTREAM_LOCAL_PORT%"),
    ("ssl_preread_server_name", "%REQUESTED_SERVER_NAME%"),
    ("bytes_received", "%BYTES_RECEIVED%"),
    ("bytes_sent", "%BYTES_SENT%"),
    ("session_milliseconds", "%DURATION%"),
    ("upstream_addr", "%UPSTREAM_HOST%"),
    ("response_flags", "%RESPONSE_FLAGS%"),
];

/// `enable-access-log: "false"` is in the route's metadata; a request that no route took has none, and is written.
const LOGGED: &str =
    "!has(xds.route_metadata) || !('sluice' in xds.route_metadata.filter_metadata)";

/// Notes the path before it is rewritten: when a request is over, nothing else tells it.
pub(super) fn original_uri() -> HeaderToMetadata {
    let uri = KeyValuePair {
        metadata_namespace: "sluice.log".to_owned(),
        key: "uri".to_owned(),
        ..KeyValuePair::default()
    };
    let rule = Rule {
        header: ":path".to_owned(),
        on_header_present: Some(uri),
        ..Rule::default()
    };
    HeaderToMetadata {
        request_rules: vec![rule],
        ..HeaderToMetadata::default()
    }
}

/// `None` without a log.
pub(super) fn of_requests(log: &sluice_ir::AccessLog, settings: &Settings) -> Option<AccessLog> {
    let written = written(&log.requests, OF_REQUEST, settings)?;
    Some(AccessLog {
        filter: Some(filter(&log.skipped)),
        ..written
    })
}

/// The same.
pub(super) fn of_connections(log: &sluice_ir::AccessLog, settings: &Settings) -> Option<AccessLog> {
    written(&log.connections, OF_CONNECTION, settings)
}

fn written(lines: &LogTarget, usual: &[(&str, &str)], settings: &Settings) -> Option<AccessLog> {
    if lines.off || !settings.access_log {
        return None;
    }
    let format = match &lines.format {
        None => Format::JsonFormat(own(usual)),
        Some(LogFormat::Json(object)) => Format::JsonFormat(facts::object(object)),
        Some(LogFormat::Text(parts)) => Format::TextFormatSource(DataSource {
            specifier: Some(Specifier::InlineString(facts::line(parts) + "\n")),
            ..DataSource::default()
        }),
    };
    let format = SubstitutionFormatString {
        format: Some(format),
        ..Default::default()
    };
    let (name, config) = if lines.to_stderr {
        let format = Some(stderr_access_log::AccessLogFormat::LogFormat(format));
        (
            "envoy.access_loggers.stderr",
            any(StderrAccessLog {
                access_log_format: format,
            }),
        )
    } else {
        let format = Some(stdout_access_log::AccessLogFormat::LogFormat(format));
        (
            "envoy.access_loggers.stdout",
            any(StdoutAccessLog {
                access_log_format: format,
            }),
        )
    };
    let config_type = config.map(access_log::ConfigType::TypedConfig);
    Some(AccessLog {
        name: name.to_owned(),
        config_type,
        ..AccessLog::default()
    })
}

fn own(fields: &[(&str, &str)]) -> Struct {
    let text = |format: &str| Value {
        kind: Some(value::Kind::StringValue(format.to_owned())),
    };
    let fields: BTreeMap<String, Value> = fields
        .iter()
        .map(|(name, format)| ((*name).to_owned(), text(format)))
        .collect();
    Struct {
        fields: fields.into_iter().collect(),
    }
}

/// Nothing else of Envoy's compares something of a request that is over and takes what is not the same.
fn filter(skipped: &[String]) -> AccessLogFilter {
    const URI: &str = "metadata.filter_metadata['sluice.log']";
    let another = skipped
        .iter()
        // Translation lets none of these through; one would end the text that it stands in.
        .filter(|uri| !uri.contains(['\'', '"', '\\']))
        .map(|uri| {
            format!(" && (!('sluice.log' in metadata.filter_metadata) || {URI}['uri'] != '{uri}')")
        });
    let expression = format!("({LOGGED}){}", another.collect::<String>());
    let expression = if skipped.is_empty() {
        LOGGED.to_owned()
    } else {
        expression
    };
    let expression = ExpressionFilter {
        expression,
        ..ExpressionFilter::default()
    };
    let extension = ExtensionFilter {
        name: "envoy.access_loggers.extension_filters.cel".to_owned(),
        config_type: any(expression).map(extension_filter::ConfigType::TypedConfig),
    };
    AccessLogFilter {
        filter_specifier: Some(FilterSpecifier::ExtensionFilter(extension)),
    }
}
