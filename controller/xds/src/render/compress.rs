//! Answers that are made shorter on their way.

use std::ops::Range;

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::extensions::compression::brotli::compressor::v3::Brotli;
use envoy_types::pb::envoy::extensions::compression::gzip::compressor::v3::Gzip;
use envoy_types::pb::envoy::extensions::filters::http::compressor::v3::Compressor;
use envoy_types::pb::envoy::extensions::filters::http::compressor::v3::compressor::{
    CommonDirectionConfig, ResponseDirectionConfig,
};
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatcher, StringMatcher};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::Predicate;
use prost::{Message, Name};
use sluice_ir::{Compression, CompressionSettings, NoGzip};
use sluice_pattern::Subject;

use super::policy::upgrades::{both, has, not, skipped_by};
use super::proto::{extension, number};

const USER_AGENT: &str = "user-agent";

/// The statuses of answers that Envoy knows.
const STATUSES: Range<u32> = 200..600;
/// nginx's filters compress these alone. A part of an answer (206) must not be: clients put it together with other parts.
const COMPRESSED: [u32; 3] = [200, 403, 404];

/// The filters; of those that a client takes, it gets the first.
pub(super) fn filters(compression: &Compression) -> Vec<TypedExtensionConfig> {
    let brotli = compression.brotli.as_ref().map(|brotli| {
        let library = Brotli {
            quality: number(brotli.level.into()),
            ..Brotli::default()
        };
        let filter = Compressor {
            choose_first: true,
            ..compressor(brotli, "brotli", library)
        };
        extension("sluice.brotli", filter)
    });
    let gzip = compression.gzip.as_ref().map(|gzip| {
        // The enum's numbers are the levels.
        let library = Gzip {
            compression_level: gzip.level.into(),
            ..Gzip::default()
        };
        let filter = extension("sluice.gzip", compressor(gzip, "gzip", library));
        match &compression.no_gzip {
            Some(clients) => extension("sluice.gzip", skipped_by(of(clients), filter)),
            None => filter,
        }
    });
    brotli.into_iter().chain(gzip).collect()
}

/// Requests of these clients.
fn of(clients: &NoGzip) -> Predicate {
    match clients {
        NoGzip::OldInternetExplorer => both(
            has(USER_AGENT, r".*MSIE [456]\..*"),
            not(has(USER_AGENT, r".*MSIE 6\..*SV1.*")),
        ),
        NoGzip::Regex(pattern) => has(
            USER_AGENT,
            &sluice_pattern::re2(pattern, Subject::TextInAnyCase, false),
        ),
    }
}

fn compressor<M: Message + Name>(
    settings: &CompressionSettings,
    name: &str,
    library: M,
) -> Compressor {
    let mut answers = CommonDirectionConfig {
        min_content_length: number(settings.min_length),
        ..Default::default()
    };
    // Without one or the other there is a list of Envoy's own.
    answers.content_type_matcher = match &settings.types {
        Some(types) => types
            .iter()
            .map(|name| alike(MatchPattern::Exact(name.clone())))
            .collect(),
        None => vec![alike(MatchPattern::SafeRegex(RegexMatcher {
            regex: ".*".to_owned(),
            ..Default::default()
        }))],
    };
    Compressor {
        compressor_library: Some(extension(name, library)),
        response_direction_config: Some(ResponseDirectionConfig {
            common_config: Some(answers),
            uncompressible_response_codes: STATUSES.filter(|it| !COMPRESSED.contains(it)).collect(),
            // As nginx does: what is compressed is another representation.
            weaken_etag_on_compress: true,
            ..ResponseDirectionConfig::default()
        }),
        ..Compressor::default()
    }
}

/// Names have no case.
fn alike(pattern: MatchPattern) -> StringMatcher {
    let ignore_case = !matches!(pattern, MatchPattern::SafeRegex(_));
    StringMatcher {
        match_pattern: Some(pattern),
        ignore_case,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_status_is_compressed_than_in_nginx() {
        let settings = CompressionSettings {
            level: 1,
            min_length: 256,
            types: None,
        };
        let filter = compressor(&settings, "gzip", Gzip::default());
        let left_alone = filter.response_direction_config.unwrap();
        let left_alone = left_alone.uncompressible_response_codes;
        for status in 200..600 {
            let is_compressed = [200, 403, 404].contains(&status);
            assert_eq!(left_alone.contains(&status), !is_compressed, "{status}");
        }
        // Envoy refuses others.
        assert_eq!(left_alone.len(), 397);
    }
}
