//! Names of headers over HTTP/1, both ways: as they came, as nginx leaves them. HTTP/2 has lower case only.

use envoy_types::pb::envoy::config::core::v3::Http1ProtocolOptions;
use envoy_types::pb::envoy::config::core::v3::http1_protocol_options::HeaderKeyFormat;
use envoy_types::pb::envoy::config::core::v3::http1_protocol_options::header_key_format::HeaderFormat;
use envoy_types::pb::envoy::extensions::http::header_formatters::preserve_case::v3::PreserveCaseFormatterConfig;
use envoy_types::pb::envoy::extensions::http::header_formatters::preserve_case::v3::preserve_case_formatter_config::FormatterTypeOnEnvoyHeaders;

use super::proto::extension;

/// Options of HTTP/1 with which names and the reason of a status pass unchanged; what is added gets capital letters (`X-Real-Ip`).
pub(super) fn preserved(options: Http1ProtocolOptions) -> Http1ProtocolOptions {
    let config = PreserveCaseFormatterConfig {
        forward_reason_phrase: true,
        formatter_type_on_envoy_headers: FormatterTypeOnEnvoyHeaders::ProperCase.into(),
    };
    let name = "envoy.http.stateful_header_formatters.preserve_case";
    Http1ProtocolOptions {
        header_key_format: Some(HeaderKeyFormat {
            header_format: Some(HeaderFormat::StatefulFormatter(extension(name, config))),
        }),
        ..options
    }
}
