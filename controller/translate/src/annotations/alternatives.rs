//! Alternatives to nginx directives in snippets: annotations and keys of the ConfigMap.

use std::collections::BTreeMap;

use sluice_syntax::expression;

use super::catalogue::find;
use crate::global::KEYS;
use crate::snippet::{AdviceFor, Catalogues};
use crate::support::{DataPlane, Support};

/// Maximum number of alternatives that are named for one snippet.
const MOST: usize = 8;

/// Facts for snippets.
pub(crate) const CATALOGUES: Catalogues = Catalogues {
    alternatives,
    not_needed,
};

/// Alternatives, best first.
#[derive(Clone, Copy, Debug)]
enum Alternative {
    Annotation(&'static str),
    /// Of the ConfigMap: it holds for all hosts.
    Key(&'static str),
    /// Something else, in its words.
    Other(&'static str),
}

use Alternative::{Annotation, Key, Other};

/// Directives whose counterpart has another name. `proxy_read_timeout` and its like are found by their own.
const OTHERS: &[(&str, &[Alternative])] = &[
    ("absolute_redirect", &[Annotation("relative-redirects")]),
    ("access_log", &[Annotation("enable-access-log")]),
    (
        "add_header",
        &[Annotation("custom-headers"), Key("add-headers")],
    ),
    (CORS[0], &[Annotation("enable-cors")]),
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
    ("grpc_read_timeout", &[Annotation("proxy-read-timeout")]),
    ("grpc_send_timeout", &[Annotation("proxy-send-timeout")]),
    ("gzip", &[Key("use-gzip")]),
    (
        ON_ADDRESS,
        &[Annotation("denylist-source-range"), Other("deny")],
    ),
    (ON_HOST, &[Other("if ($host ...)")]),
    (
        ON_PROTOCOL,
        &[Other(
            "force-ssl-redirect (with use-forwarded-headers of the ConfigMap)",
        )],
    ),
    ("keepalive_timeout", &[Key("keep-alive")]),
    ("keepalive_requests", &[Key("keep-alive-requests")]),
    ("limit_conn", &[Annotation("limit-connections")]),
    (
        "limit_req",
        &[Annotation("limit-rps"), Annotation("limit-rpm")],
    ),
    ("limit_req_status", &[Key("limit-req-status-code")]),
    (
        "listen",
        &[Other(
            "use-forwarded-headers with force-ssl-redirect, behind a load balancer that ends TLS,",
        )],
    ),
    ("mirror", &[Annotation("mirror-target")]),
    ("more_clear_headers", &[Key("hide-headers")]),
    (
        "more_set_headers",
        &[Annotation("custom-headers"), Key("add-headers")],
    ),
    ("more_set_input_headers", &[Key("proxy-set-headers")]),
    (CORS[1], &[Annotation("enable-cors")]),
    ("port_in_redirect", &[Annotation("use-port-in-redirects")]),
    ("proxy_buffers", &[Annotation("proxy-buffers-number")]),
    ("proxy_hide_header", &[Key("hide-headers")]),
    (
        "proxy_intercept_errors",
        &[Annotation("custom-http-errors")],
    ),
    ("proxy_pass", &[Other("a path of an Ingress")]),
    (
        "proxy_redirect",
        &[
            Annotation("proxy-redirect-from"),
            Annotation("proxy-redirect-to"),
        ],
    ),
    ("proxy_set_header", &[Key("proxy-set-headers")]),
    (OF_CONNECTION, &[Annotation("connection-proxy-header")]),
    (OF_HOST, &[Annotation("upstream-vhost")]),
    (OF_PREFIX, &[Annotation("x-forwarded-prefix")]),
    (
        "real_ip_header",
        &[Other(
            "forwarded-for-header with enable-real-ip of the ConfigMap",
        )],
    ),
    (OF_ADDRESS, &[Key("forwarded-for-header")]),
    (FORWARDED, &[Key("use-forwarded-headers")]),
    (ORIGINAL_URI, &[Key("proxy-add-original-uri-header")]),
    (
        ON_TARGET,
        &[Other(
            "if ($uri ...), the path without its query, or if ($args ...), the query alone,",
        )],
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
    (
        "set_real_ip_from",
        &[Other(
            "proxy-real-ip-cidr with enable-real-ip of the ConfigMap",
        )],
    ),
];

/// Directives whose counterpart depends on their arguments, as they are named.
const CORS: [&str; 2] = [
    "add_header Access-Control-*",
    "more_set_headers Access-Control-*",
];
const ON_ADDRESS: &str = "if ($remote_addr ...)";
const ON_HOST: &str = "if ($http_host ...)";
const ON_TARGET: &str = "if ($request_uri ...)";
const ON_PROTOCOL: &str = "if ($http_x_forwarded_proto ...)";
const OF_CONNECTION: &str = "proxy_set_header Connection";
const OF_HOST: &str = "proxy_set_header Host";
const OF_PREFIX: &str = "proxy_set_header X-Forwarded-Prefix";
const OF_ADDRESS: &str = "proxy_set_header X-Real-IP";
const FORWARDED: &str = "proxy_set_header X-Forwarded-*";
const ORIGINAL_URI: &str = "proxy_set_header X-Original-URI";

/// A directive as its counterpart is looked for.
fn advised(words: &[String]) -> &str {
    let name = words.first().map_or("", String::as_str);
    let argument = words.get(1).map(|argument| argument.to_ascii_lowercase());
    let argument = argument.unwrap_or_default();
    let argument = argument.trim_start_matches('(');
    let variable = match argument {
        "" => words.get(2).map_or("", String::as_str),
        argument => argument,
    };
    match name {
        "add_header" if argument.starts_with("access-control-") => CORS[0],
        "more_set_headers" if argument.starts_with("access-control-") => CORS[1],
        "if" if variable.starts_with("$remote_addr") => ON_ADDRESS,
        "if" if is_called(variable, "$http_host") => ON_HOST,
        "if" if is_called(variable, "$request_uri") => ON_TARGET,
        "if" if variable.starts_with("$http_x_forwarded_proto") => ON_PROTOCOL,
        "proxy_set_header" => match argument {
            "connection" => OF_CONNECTION,
            "host" => OF_HOST,
            "x-forwarded-prefix" => OF_PREFIX,
            "x-original-uri" => ORIGINAL_URI,
            "x-forwarded-for" | "x-real-ip" => OF_ADDRESS,
            "x-forwarded-host" | "x-forwarded-port" | "x-forwarded-proto" => FORWARDED,
            _ => name,
        },
        other => other,
    }
}

fn is_called(variable: &str, name: &str) -> bool {
    variable.trim_end_matches(')').eq_ignore_ascii_case(name)
}

/// Alternatives to these directives, for each once; empty when there are none.
pub(crate) fn alternatives(
    directives: &[Vec<String>],
    data_plane: Option<DataPlane>,
    advice_for: AdviceFor,
) -> String {
    let mut advice: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (directive, words) in directives
        .iter()
        .filter_map(|words| counterpart(words, data_plane, advice_for))
    {
        let same = advice.entry(words).or_default();
        if !same.contains(&directive) {
            same.push(directive);
        }
    }
    let said = advice
        .iter()
        .take(MOST)
        .map(|(words, of)| match of.as_slice() {
            // Both are called the same.
            [directive] if words == directive => format!("the annotation {words}"),
            of => format!("{words} for {}", of.join(", ")),
        });
    said.collect::<Vec<_>>().join("; ")
}

fn counterpart(
    words: &[String],
    data_plane: Option<DataPlane>,
    advice_for: AdviceFor,
) -> Option<(&str, String)> {
    let directive = advised(words);
    // nginx compares it as it was received.
    if directive == ON_TARGET && data_plane == Some(DataPlane::Nginx) {
        return None;
    }
    let is_for_them =
        |one: &Alternative| advice_for == AdviceFor::Ingresses || !matches!(one, Annotation(_));
    let own_name = directive.replace('_', "-");
    let listed = OTHERS
        .iter()
        .find(|(name, _)| *name == directive)
        .map(|(_, all)| all.to_vec());
    let all = listed.or_else(|| Some(vec![by_name(&own_name)?]))?;
    let served = all
        .into_iter()
        .filter(|one| is_for_them(one) && one.is_honoured(data_plane))
        .filter(|one| one.takes_values(words));
    let said: Vec<String> = served.map(Alternative::words).collect();
    let (last, others) = said.split_last()?;
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

/// Buffers: their sizes decide nothing that a client or a pod could see.
const BUFFERS: [&str; 5] = [
    "proxy_buffer_size",
    "proxy_buffering",
    "proxy_buffers",
    "proxy_busy_buffers_size",
    "proxy_max_temp_file_size",
];

/// Reason why a data plane has nothing to do for a directive, as that of its annotation.
pub(super) fn not_needed(directive: &str, data_plane: Option<DataPlane>) -> Option<&'static str> {
    if !BUFFERS.contains(&directive) {
        return None;
    }
    let listed = OTHERS.iter().find(|(name, _)| *name == directive);
    let counterpart = match listed.and_then(|(_, all)| all.first()) {
        Some(Annotation(name)) => find(name),
        _ => find(&directive.replace('_', "-")),
    };
    match counterpart?.supports.of(data_plane?) {
        Support::NotNeeded(reason) => Some(reason),
        _ => None,
    }
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
            Annotation(name @ "custom-headers") => {
                format!(
                    "{name} (the header listed in global-allowed-response-headers of the ConfigMap)"
                )
            }
            Annotation(name) | Other(name) => name.to_owned(),
            Key(name) => format!("{name} of the ConfigMap"),
        }
    }

    /// True if it may have the variables of a directive that sets a header.
    fn takes_values(self, words: &[String]) -> bool {
        let takes: fn(&str) -> bool = match self {
            Annotation("custom-headers") => |text| !text.contains('$'),
            Key("add-headers") => |text| expression::for_headers(text).is_ok(),
            Key("proxy-set-headers") => |text| expression::for_all_requests(text).is_ok(),
            Annotation(_) | Key(_) | Other(_) => return true,
        };
        words.iter().skip(1).all(|word| takes(word))
    }

    fn is_honoured(self, data_plane: Option<DataPlane>) -> bool {
        let supports = match self {
            Annotation(name) => find(name).map(|annotation| annotation.supports),
            Key(name) => KEYS
                .iter()
                .find(|key| key.name == name)
                .map(|key| key.supports),
            Other(_) => return true,
        };
        supports.is_some_and(|supports| supports.is_honoured(data_plane))
    }
}

#[cfg(test)]
mod tests;
