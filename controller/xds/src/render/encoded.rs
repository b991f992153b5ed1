//! Paths with something encoded: which route they mean is known when they are decoded.
//!
//! ```text
//!   /admin%2fx --> route of encoded paths --> sluice.lookup (wasm): :path = /admin/x, x-sluice-path = /admin%2fx
//!              --> route of /admin --> sluice.lookup (its policies, found late) --> sluice --> router: path_rewrite = /admin%2fx
//! ```
//!
//! Envoy takes a stream's filters when it begins, so the first route of every host, which takes whatever has a `%` or a byte that
//! ought to be encoded before its query (or is `//`), switches on what is switched off for all others. It is itself answered with
//! 400: nothing goes on undecoded.

use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, Route};
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::Config as HeaderToMetadata;
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::config::{
    KeyValuePair, Rule,
};
use envoy_types::pb::envoy::r#type::matcher::v3::{RegexMatchAndSubstitute, RegexMatcher};
use sluice_ir::PathMatch;

use super::LOOKUP_FILTER;
use super::policy::{POLICY, without_limit};
use super::proto::switched_on;
use super::replaced_headers;
use super::route::matching::{absent, match_of, matches, only_for};
use crate::settings::{ENCODED_ROUTE, PATH_HEADER};

/// The path as it was sent, where it was decoded; otherwise nothing, and whoever writes it leaves the path as it is.
pub(super) const SENT: &str = "%DYNAMIC_METADATA(sluice.lookup:path)%";
/// The same without a slash at its end.
pub(super) const SENT_UNSLASHED: &str = "%DYNAMIC_METADATA(sluice.lookup:unslashed)%";
/// Path and query as they were sent, before they were decoded; found when headers of ours are gone.
pub(super) const DECODED_TARGET: (&str, &str) = (LOOKUP_FILTER, "target");
/// Path and query as they were sent, in any case.
pub(super) const SENT_TARGET: &str = "%REQ(x-sluice-path?:path)%";

/// Targets whose path has something encoded, or a byte that ought to be. And one more, because Envoy merges the slashes of a path of
/// nothing else to two: it would be none of the exact paths and patterns that mean `/`.
const NOT_CANONICAL: &str = r"[!$&-;=@-\[\]_a-z~]*[^!$&-;=?@-\[\]_a-z~].*|//(?:\?.*)?";

/// Keeps what was sent where formats find it when headers of ours are gone. Comes behind who decodes.
pub(super) fn kept() -> HeaderToMetadata {
    let rule = |key: &str, path: &str| Rule {
        header: PATH_HEADER.to_owned(),
        on_header_present: Some(KeyValuePair {
            metadata_namespace: LOOKUP_FILTER.to_owned(),
            key: key.to_owned(),
            regex_value_rewrite: Some(RegexMatchAndSubstitute {
                pattern: Some(RegexMatcher {
                    regex: path.to_owned(),
                    ..RegexMatcher::default()
                }),
                substitution: r"\1".to_owned(),
            }),
            ..KeyValuePair::default()
        }),
        ..Rule::default()
    };
    let request_rules = vec![
        rule("path", r"^([^?]*)(?:\?.*)?$"),
        rule("unslashed", r"^([^?]*?)/?(?:\?.*)?$"),
        rule(DECODED_TARGET.1, r"^(.*)$"),
    ];
    HeaderToMetadata {
        request_rules,
        ..HeaderToMetadata::default()
    }
}

/// The first route of every host.
pub(super) fn route() -> Route {
    let encoded = [matches(":path", NOT_CANONICAL), absent(PATH_HEADER)];
    let unresolved = unresolved(ENCODED_ROUTE.to_owned(), 400);
    encoded.into_iter().fold(unresolved, only_for)
}

/// A route of requests that the filter prepares before theirs is looked for; the status is that of one that it does not prepare.
pub(super) fn unresolved(name: String, status: u32) -> Route {
    let answer = DirectResponseAction {
        status,
        ..DirectResponseAction::default()
    };
    let switched = [
        (LOOKUP_FILTER, switched_on()),
        (POLICY, without_limit()),
        (replaced_headers::FILTER, switched_on()),
    ];
    Route {
        name,
        r#match: Some(match_of(&sluice_ir::RouteMatch::path(PathMatch::Prefix(
            "/".to_owned(),
        )))),
        action: Some(Action::DirectResponse(answer)),
        typed_per_filter_config: switched
            .into_iter()
            .filter_map(|(name, config)| Some((name.to_owned(), config?)))
            .collect(),
        ..Route::default()
    }
}

#[cfg(test)]
mod tests {
    use sluice_filter_core::path;

    use super::*;

    /// Patterns are written for what the filter makes of a path.
    #[test]
    fn texts_are_encoded_as_the_filter_encodes_them() {
        for letter in (1..=127)
            .map(char::from)
            .chain(['\u{e9}', '\u{20ac}', '\u{1f600}'])
        {
            let text = format!("/{letter}a");
            let own = sluice_pattern::encoded_path(&text);
            assert_eq!(
                own.as_bytes(),
                &*path::encoded(text.as_bytes()),
                "{letter:?}"
            );
        }
    }

    #[test]
    fn whatever_the_filter_writes_otherwise_is_sent_to_it() {
        let whole = format!("^(?:{NOT_CANONICAL})$");
        // As Envoy compares: bytes.
        let whole = regex::bytes::RegexBuilder::new(&whole)
            .unicode(false)
            .build()
            .unwrap();
        for byte in (1..=u8::MAX).filter(|byte| *byte != b'\n') {
            for query in [&b""[..], b"?", b"?%2f", b"?\xff"] {
                for path in [&[b'/', byte][..], &[b'/', b'a', byte, b'b']] {
                    let target = [path, query].concat();
                    assert_eq!(
                        whole.is_match(&target),
                        !path::is_plain(&target),
                        "{target:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn formats_name_the_header_and_the_filter_of_the_host_contract() {
        assert_eq!(SENT, format!("%DYNAMIC_METADATA({LOOKUP_FILTER}:path)%"));
        assert_eq!(
            SENT_UNSLASHED,
            format!("%DYNAMIC_METADATA({LOOKUP_FILTER}:unslashed)%")
        );
        assert_eq!(SENT_TARGET, format!("%REQ({PATH_HEADER}?:path)%"));
    }
}
