//! Alternatives to nginx directives in snippets: annotations and keys of the ConfigMap.

use std::collections::BTreeMap;

use super::catalogue::find;
use crate::global::KEYS;
use crate::support::DataPlane;

/// Maximum number of alternatives that are named for one snippet.
const MOST: usize = 8;

/// Alternatives, best first.
#[derive(Clone, Copy, Debug)]
enum Alternative {
    Annotation(&'static str),
    /// Of the ConfigMap: it holds for all hosts.
    Key(&'static str),
}

use Alternative::{Annotation, Key};

/// Directives whose counterpart has another name. `proxy_read_timeout` and its like are found by their own.
const OTHERS: &[(&str, &[Alternative])] = &[
    ("access_log", &[Annotation("enable-access-log")]),
    (
        "add_header",
        &[Annotation("custom-headers"), Key("add-headers")],
    ),
    ("allow", &[Annotation("allowlist-source-range")]),
    (
        "auth_basic",
        &[Annotation("auth-type"), Annotation("auth-secret")],
    ),
    ("auth_basic_user_file", &[Annotation("auth-secret")]),
    ("auth_request", &[Annotation("auth-url")]),
    ("auth_request_set", &[Annotation("auth-response-headers")]),
    ("brotli", &[Key("enable-brotli")]),
    ("client_max_body_size", &[Annotation("proxy-body-size")]),
    (
        "deny",
        &[
            Annotation("denylist-source-range"),
            Annotation("allowlist-source-range"),
        ],
    ),
    ("error_page", &[Annotation("custom-http-errors")]),
    ("expires", &[Annotation("custom-headers")]),
    ("gzip", &[Key("use-gzip")]),
    ("keepalive_timeout", &[Key("keep-alive")]),
    ("keepalive_requests", &[Key("keep-alive-requests")]),
    ("limit_conn", &[Annotation("limit-connections")]),
    (
        "limit_req",
        &[Annotation("limit-rps"), Annotation("limit-rpm")],
    ),
    ("mirror", &[Annotation("mirror-target")]),
    ("more_clear_headers", &[Key("hide-headers")]),
    (
        "more_set_headers",
        &[Annotation("custom-headers"), Key("add-headers")],
    ),
    ("more_set_input_headers", &[Key("proxy-set-headers")]),
    ("proxy_buffers", &[Annotation("proxy-buffers-number")]),
    ("proxy_hide_header", &[Key("hide-headers")]),
    (
        "proxy_redirect",
        &[
            Annotation("proxy-redirect-from"),
            Annotation("proxy-redirect-to"),
        ],
    ),
    (
        "proxy_set_header",
        &[
            Annotation("upstream-vhost"),
            Annotation("x-forwarded-prefix"),
            Annotation("connection-proxy-header"),
            Key("proxy-set-headers"),
        ],
    ),
    (
        "return",
        &[
            Annotation("permanent-redirect"),
            Annotation("temporal-redirect"),
        ],
    ),
    (
        "rewrite",
        &[
            Annotation("rewrite-target"),
            Annotation("permanent-redirect"),
        ],
    ),
];

/// Alternatives to these directives, for each once; empty when there are none.
pub(crate) fn alternatives(directives: &[String], data_plane: Option<DataPlane>) -> String {
    let mut advice: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (directive, words) in directives
        .iter()
        .filter_map(|directive| counterpart(directive, data_plane))
    {
        let same = advice.entry(words).or_default();
        if !same.contains(&directive) {
            same.push(directive);
        }
    }
    let said = advice
        .iter()
        .take(MOST)
        .map(|(words, of)| format!("{words} for {}", of.join(", ")));
    said.collect::<Vec<_>>().join("; ")
}

fn counterpart(directive: &str, data_plane: Option<DataPlane>) -> Option<(&str, String)> {
    let own_name = directive.replace('_', "-");
    let listed = OTHERS
        .iter()
        .find(|(name, _)| *name == directive)
        .map(|(_, all)| all.to_vec());
    let all = listed.or_else(|| Some(vec![by_name(&own_name)?]))?;
    let served = all.into_iter().filter(|one| one.is_honoured(data_plane));
    let words: Vec<String> = served.map(Alternative::words).collect();
    let (last, others) = words.split_last()?;
    let others = others.join(", ");
    Some((
        directive,
        if others.is_empty() {
            last.clone()
        } else {
            format!("{others} or {last}")
        },
    ))
}

/// The annotation or the key that is called like the directive.
fn by_name(name: &str) -> Option<Alternative> {
    let annotation = find(name).map(|found| Annotation(found.name));
    annotation.or_else(|| {
        KEYS.iter()
            .find(|key| key.name == name)
            .map(|key| Key(key.name))
    })
}

impl Alternative {
    fn words(self) -> String {
        match self {
            Annotation(name) => name.to_owned(),
            Key(name) => format!("{name} of the ConfigMap"),
        }
    }

    fn is_honoured(self, data_plane: Option<DataPlane>) -> bool {
        let supports = match self {
            Annotation(name) => find(name).map(|annotation| annotation.supports),
            Key(name) => KEYS
                .iter()
                .find(|key| key.name == name)
                .map(|key| key.supports),
        };
        supports.is_some_and(|supports| supports.is_honoured(data_plane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(directive: &str, data_plane: DataPlane) -> String {
        alternatives(&[directive.to_owned()], Some(data_plane))
    }

    #[test]
    fn everything_that_is_named_is_there_and_served_by_one_of_the_data_planes() {
        for (directive, all) in OTHERS {
            assert!(all.iter().all(|one| one.is_honoured(None)), "{directive}");
        }
    }

    #[test]
    fn a_directive_that_is_called_like_an_annotation_or_a_key_needs_no_entry() {
        for data_plane in [DataPlane::Envoy, DataPlane::Nginx] {
            for name in [
                "proxy_connect_timeout",
                "proxy_read_timeout",
                "proxy_send_timeout",
            ] {
                assert_eq!(
                    advice(name, data_plane),
                    format!("{} for {name}", name.replace('_', "-"))
                );
            }
            assert_eq!(
                advice("gzip_types", data_plane),
                "gzip-types of the ConfigMap for gzip_types"
            );
        }
        for (directive, _) in OTHERS {
            let own = by_name(&directive.replace('_', "-")).map(Alternative::words);
            assert_ne!(
                own,
                Some(directive.replace('_', "-")),
                "{directive} would be found by its name"
            );
        }
    }

    #[test]
    fn nothing_is_advised_that_the_data_plane_does_not_serve() {
        assert_eq!(advice("proxy_http_version", DataPlane::Envoy), "");
        assert_eq!(
            advice("proxy_http_version", DataPlane::Nginx),
            "proxy-http-version for proxy_http_version"
        );
        assert_eq!(advice("sub_filter", DataPlane::Nginx), "");
    }

    #[test]
    fn directives_with_the_same_counterpart_are_named_together_and_once() {
        let directives = [
            "deny",
            "more_clear_headers",
            "proxy_hide_header",
            "deny",
            "if",
        ]
        .map(str::to_owned);
        assert_eq!(
            alternatives(&directives, None),
            "denylist-source-range or allowlist-source-range for deny; \
             hide-headers of the ConfigMap for more_clear_headers, proxy_hide_header"
        );
    }
}
