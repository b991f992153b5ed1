//! Each request, and each connection without HTTP, is a line on Envoy's standard output, in the format that the operator wants.

mod expressions;
mod fields;

use std::collections::BTreeSet;

use envoy_types::pb::envoy::config::accesslog::v3::access_log_filter::FilterSpecifier;
use envoy_types::pb::envoy::config::accesslog::v3::{
    AccessLog, AccessLogFilter, ExtensionFilter, access_log, extension_filter,
};
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::substitution_format_string::Format;
use envoy_types::pb::envoy::config::core::v3::{
    CelExpressionConfig, DataSource, SubstitutionFormatString,
};
use envoy_types::pb::envoy::extensions::access_loggers::filters::cel::v3::ExpressionFilter;
use envoy_types::pb::envoy::extensions::access_loggers::stream::v3::{
    StderrAccessLog, StdoutAccessLog, stderr_access_log, stdout_access_log,
};
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::Config as HeaderToMetadata;
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::config::{
    KeyValuePair, Rule,
};
use envoy_types::pb::envoy::extensions::formatter::cel::v3::Cel;
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatchAndSubstitute, RegexMatcher};
use sluice_ir::LogTarget;

use super::cel::bare_literal;
use super::forwarded;
use super::proto::{any, extension};
use crate::Settings;
use expressions::{CONTROLS, is_noted, logged, noted};
pub(super) use expressions::{LOG_METADATA, MAIN, UNLOGGED};
use fields::URI;

/// Notes path, query and headers of the log as the client sent them: when a request is over, nothing else says them.
pub(super) fn request_metadata(log: &sluice_ir::AccessLog) -> HeaderToMetadata {
    let rule = |header: &str, key: &str| Rule {
        header: header.to_owned(),
        on_header_present: Some(KeyValuePair {
            metadata_namespace: LOG_METADATA.to_owned(),
            key: key.to_owned(),
            regex_value_rewrite: Some(RegexMatchAndSubstitute {
                pattern: Some(RegexMatcher {
                    regex: CONTROLS.to_owned(),
                    ..RegexMatcher::default()
                }),
                substitution: "?".to_owned(),
            }),
            ..KeyValuePair::default()
        }),
        ..Rule::default()
    };
    let headers: BTreeSet<&str> = fields::headers(&log.requests.format).collect();
    let headers = headers
        .into_iter()
        .map(|name| rule(forwarded::as_sent(name), name));
    HeaderToMetadata {
        request_rules: [rule(":path", URI)].into_iter().chain(headers).collect(),
        ..HeaderToMetadata::default()
    }
}

/// `None` without a log.
pub(super) fn of_requests(log: &sluice_ir::AccessLog, settings: &Settings) -> Option<AccessLog> {
    let written = written(&log.requests, settings)?;
    Some(AccessLog {
        filter: Some(where_holds(is_written(&log.skipped))),
        ..written
    })
}

/// The same.
pub(super) fn of_connections(log: &sluice_ir::AccessLog, settings: &Settings) -> Option<AccessLog> {
    written(&log.connections, settings)
}

fn written(lines: &LogTarget, settings: &Settings) -> Option<AccessLog> {
    if lines.off || !settings.access_log {
        return None;
    }
    let line = fields::line(&lines.format, lines.escaping) + "\n";
    let format = SubstitutionFormatString {
        format: Some(Format::TextFormatSource(DataSource {
            specifier: Some(Specifier::InlineString(line)),
            ..DataSource::default()
        })),
        formatters: vec![extension("envoy.formatter.cel", cel())],
        ..SubstitutionFormatString::default()
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

/// With the functions that escaping needs.
fn cel() -> Cel {
    Cel {
        cel_config: Some(CelExpressionConfig {
            enable_string_conversion: true,
            enable_string_concat: true,
            enable_string_functions: true,
        }),
    }
}

/// Nothing else of Envoy's compares something of a request that is over and takes what is not the same. A path that was not noted, as
/// one that is too long is not, is none of these.
fn is_written(skipped: &[String]) -> String {
    if skipped.is_empty() {
        return logged();
    }
    let skipped: Vec<String> = skipped.iter().map(|uri| bare_literal(uri)).collect();
    let (is_noted, noted, skipped) = (is_noted(URI), noted(URI), skipped.join(", "));
    format!("{} && !({is_noted} && {noted} in [{skipped}])", logged())
}

/// Takes the requests for which an expression of CEL holds.
pub(super) fn where_holds(expression: String) -> AccessLogFilter {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `skip-access-log-urls` has at most 32 KiB, with a comma after each path, and no character that a literal escapes.
    #[test]
    fn the_most_paths_to_skip_are_no_longer_than_envoy_reads() {
        const LONGEST_EXPRESSION: usize = 100_000;
        for path in ["/", "/%", "/(:)"] {
            let paths = vec![path.to_owned(); 32 * 1024 / (path.len() + 1)];
            assert!(is_written(&paths).len() < LONGEST_EXPRESSION, "{path}");
        }
    }

    #[test]
    fn a_path_to_skip_ends_no_text() {
        let written = is_written(&["/a' || true || '".to_owned()]);
        assert!(
            written.ends_with(r"in ['/a\u0027 || true || \u0027'])"),
            "{written}"
        );
    }
}
