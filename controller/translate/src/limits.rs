//! Limits of one Ingress, with their reports; docs/annotations.md is written from them.

use sluice_filter_config::{LARGEST_PATTERN, LARGEST_SUBSET, MOST_VARIABLES};
use sluice_filter_core::path_patterns;
use sluice_pattern::{
    MAX_PATTERN_BYTES, MOST_INSTRUCTIONS, MOST_REPETITIONS, MOST_STATE_BYTES,
    MOST_STATE_BYTES_OF_TEXTS, MOST_STEPS,
};
use sluice_syntax::MAX_HEADER_BYTES;
use sluice_syntax::path::LONGEST;
use sluice_syntax::seclang;
use sluice_syntax::server_alias::MAX_ALIAS_PATTERNS;
use sluice_syntax::settings::ext_auth::MAX_RESPONSE_HEADERS;
use sluice_syntax::settings::response_rewrite::MAX_GROUPS;
use sluice_translate_engine::MAX_CANARIES;

use crate::annotations::{MAX_ALIASES, MAX_ORIGINS, MAX_PARAMS_BYTES};
use crate::servers::{
    MAX_ANNOTATION_BYTES, MAX_ANNOTATION_BYTES_OF_ALL_PATHS, MAX_CONDITIONAL_HEADERS, MAX_PATHS,
    MAX_PATTERN_COST, MAX_RULES, MAX_SERVICES, MAX_SNIPPET_CONDITIONS, MAX_TLS_ENTRIES,
};
use crate::snippet::{MAX_CONDITIONS, MAX_DIRECTIVES, MAX_LOCATIONS, MAX_RESPONSES};

/// One limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Of what.
    pub what: &'static str,
    /// As much may be.
    pub most: u64,
    /// Consequence of exceeding it.
    pub beyond: &'static str,
}

const NO_PATTERN: &str =
    "the path is not served; with access control, paths that begin like it answer 503";

const UNKNOWN_ACCESS_CONTROL: &str =
    "the Ingress is not served; its paths answer 503, because its access control is unknown";

const SNIPPET_MAY_CLOSE: &str =
    "the snippet is not served, and its paths answer 503 if it may reject requests";

const SNIPPET_CLOSES: &str = "the snippet is not served, and its paths answer 503";

/// Every limit of what one Ingress says.
pub static LIMITS: &[Limit] = &[
    limit(
        "rules of an Ingress",
        MAX_RULES as u64,
        "the Ingress is not served; with access control its paths answer 503, and so do all paths of its namespace on hosts of \
         rules beyond the limit",
    ),
    limit(
        "bytes of all annotations",
        MAX_ANNOTATION_BYTES as u64,
        UNKNOWN_ACCESS_CONTROL,
    ),
    limit(
        "bytes of the annotations that are read, times the paths of the Ingress",
        MAX_ANNOTATION_BYTES_OF_ALL_PATHS as u64,
        UNKNOWN_ACCESS_CONTROL,
    ),
    limit(
        "paths of an Ingress",
        MAX_PATHS as u64,
        "those after them are not served; with access control, all paths of their namespace on their hosts answer 503",
    ),
    limit(
        "Services and ports of an Ingress whose snippets have `$service_name` or `$service_port`",
        MAX_SERVICES as u64,
        SNIPPET_MAY_CLOSE,
    ),
    limit(
        "entries of `spec.tls`",
        MAX_TLS_ENTRIES as u64,
        "those after them are not used",
    ),
    limit(
        "names in `server-alias`",
        MAX_ALIASES as u64,
        "those after them are not used",
    ),
    limit(
        "patterns in `server-alias`",
        MAX_ALIAS_PATTERNS as u64,
        "those after them are not used",
    ),
    limit(
        "bytes of a path",
        LONGEST as u64,
        "the path is not served; with access control, paths that begin like it answer 503",
    ),
    limit("bytes of a pattern", MAX_PATTERN_BYTES as u64, NO_PATTERN),
    limit(
        "repetitions in a pattern, nested ones multiplied",
        MOST_REPETITIONS,
        NO_PATTERN,
    ),
    limit(
        "RE2 instructions of a compiled pattern",
        MOST_INSTRUCTIONS,
        NO_PATTERN,
    ),
    limit(
        "bytes of all states that a pattern of a path can be in",
        MOST_STATE_BYTES as u64,
        NO_PATTERN,
    ),
    limit(
        "cost of all patterns of paths of an Ingress (half a second to measure them)",
        MAX_PATTERN_COST,
        NO_PATTERN,
    ),
    limit(
        "the same of any other pattern",
        MOST_STATE_BYTES_OF_TEXTS as u64,
        "the setting is not served; with access control, its paths answer 503",
    ),
    limit(
        "backtracking steps of a pattern in PCRE, per request",
        MOST_STEPS as u64,
        "nginx answers 500 to the request",
    ),
    limit(
        "steps of a pattern that RE2 does not have, per request, in Envoy",
        path_patterns::MOST_STEPS as u64,
        "Envoy answers 500 to the request",
    ),
    limit(
        "patterns that RE2 does not have, of one namespace on a host",
        path_patterns::MOST_OF_NAMESPACE as u64,
        NO_PATTERN,
    ),
    limit(
        "canaries of one backend",
        MAX_CANARIES as u64,
        "those after them are not used",
    ),
    limit(
        "bytes of `canary-by-header-pattern`, compiled",
        LARGEST_PATTERN as u64,
        "requests with the header go to the main backend",
    ),
    limit(
        "bytes of a pattern in `proxy-redirect-from` and `proxy-cookie-*`, compiled",
        LARGEST_PATTERN as u64,
        "the annotation is ignored",
    ),
    limit(
        "groups of such a pattern",
        MAX_GROUPS as u64,
        "the annotation is ignored",
    ),
    limit(
        "variables of `upstream-hash-by`",
        MOST_VARIABLES as u64,
        "the annotation is ignored",
    ),
    limit(
        "`upstream-hash-by-subset-size`",
        LARGEST_SUBSET as u64,
        "3, the default, holds",
    ),
    limit(
        "names in `auth-response-headers`",
        MAX_RESPONSE_HEADERS as u64,
        "the paths answer 503",
    ),
    limit(
        "bytes of names and values in `fastcgi-params-configmap`",
        MAX_PARAMS_BYTES as u64,
        "none of them is set",
    ),
    limit(
        "directives of `modsecurity-snippet`",
        seclang::MAX_DIRECTIVES as u64,
        SNIPPET_MAY_CLOSE,
    ),
    limit(
        "bytes of `modsecurity-snippet`",
        seclang::MAX_BYTES as u64,
        SNIPPET_MAY_CLOSE,
    ),
    limit(
        "origins in `cors-allow-origin`",
        MAX_ORIGINS as u64,
        "no origin is allowed",
    ),
    limit(
        "responses of a snippet and their conditions, times its paths and their CORS origins",
        MAX_SNIPPET_CONDITIONS as u64,
        SNIPPET_CLOSES,
    ),
    limit(
        "texts and variables in values of `add_header` without `always`, times paths and CORS origins",
        MAX_CONDITIONAL_HEADERS as u64,
        "added to errors, too",
    ),
    limit(
        "`set`, `if` and `return` of a snippet",
        MAX_DIRECTIVES as u64,
        SNIPPET_CLOSES,
    ),
    limit(
        "responses of a snippet",
        MAX_RESPONSES as u64,
        SNIPPET_CLOSES,
    ),
    limit(
        "conditions of a response of a snippet",
        MAX_CONDITIONS as u64,
        SNIPPET_CLOSES,
    ),
    limit(
        "locations of a snippet",
        MAX_LOCATIONS as u64,
        SNIPPET_CLOSES,
    ),
    limit(
        "bytes of a header that is set",
        MAX_HEADER_BYTES as u64,
        "the header is not set",
    ),
];

const fn limit(what: &'static str, most: u64, beyond: &'static str) -> Limit {
    Limit { what, most, beyond }
}
