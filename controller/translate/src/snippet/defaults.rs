//! Directives that set what is set anyway.

pub(super) mod request_headers;

use crate::snippet::syntax::statements::{Piece, Pieces, Statement};

/// ingress-nginx's own settings of a location, or nginx's where it has none.
const DEFAULTS: &[(&str, &str)] = &[
    ("etag", "on"),
    ("grpc_ssl_verify", "off"),
    ("proxy_buffering", "off"),
    ("proxy_http_version", "1.1"),
    ("proxy_intercept_errors", "off"),
    ("proxy_pass_request_body", "on"),
    ("proxy_pass_request_headers", "on"),
    ("proxy_request_buffering", "on"),
    ("proxy_ssl_session_reuse", "on"),
    ("proxy_ssl_verify", "off"),
    ("server_tokens", "off"),
];

/// True if a snippet makes no difference, whatever the annotations beside it: nginx takes no directive twice.
pub(crate) fn are_all(text: &str) -> bool {
    Pieces::new(text).all(|piece| match piece {
        Ok(Piece::Statement(Statement { words, opens, .. })) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            !opens && is_default(&words)
        }
        Ok(Piece::End) | Err(_) => false,
    })
}

/// Reason why a snippet of a server has no effect, of one that has none.
pub(crate) fn why_without_effect(text: &str) -> &'static str {
    let is_condition = |piece| {
        let Ok(Piece::Statement(Statement { words, .. })) = piece else {
            return false;
        };
        matches!(words.first().map(String::as_str), Some("if" | "set"))
    };
    if are_all(text) {
        "it sets only defaults"
    } else if Pieces::new(text).any(is_condition) {
        "no request gets to a return of it, so it changes no response"
    } else {
        "every location sets its directives itself"
    }
}

/// True if one directive without a block sets a default.
pub(in crate::snippet) fn is_default(words: &[&str]) -> bool {
    match *words {
        [name, value] => DEFAULTS.contains(&(name, value)),
        [name, header, value] => {
            name == "proxy_set_header" && request_headers::is_set(header, value)
        }
        _ => false,
    }
}

/// Directives of a server that have no effect, because ingress-nginx writes each of them into every location.
#[rustfmt::skip]
const OF_EVERY_LOCATION: &[&str] = &[
    "client_max_body_size", "grpc_connect_timeout", "grpc_read_timeout", "grpc_send_timeout", "proxy_buffer_size", "proxy_buffering", "proxy_buffers", "proxy_connect_timeout",
    "proxy_cookie_domain", "proxy_cookie_path", "proxy_http_version", "proxy_max_temp_file_size", "proxy_next_upstream",
    "proxy_next_upstream_timeout", "proxy_next_upstream_tries", "proxy_read_timeout", "proxy_redirect",
    "proxy_request_buffering", "proxy_send_timeout", "proxy_set_header",
];

/// True if no location inherits this directive of a server.
pub(in crate::snippet) fn is_overridden_by_locations(words: &[&str]) -> bool {
    words
        .first()
        .is_some_and(|name| OF_EVERY_LOCATION.contains(name))
}

/// True if a directive of a location changes nothing in what the location itself answers: nobody is asked for a password before that.
pub(in crate::snippet) fn is_without_effect_on_direct_responses(words: &[&str]) -> bool {
    matches!(words, ["auth_basic" | "auth_request", "off"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_effect_says_why() {
        for (text, why) in [
            ("server_tokens off;", "defaults"),
            ("proxy_read_timeout 5;", "every location"),
            ("server_tokens off; proxy_read_timeout 5;", "every location"),
            ("set $a 0; if ($a) { return 503; }", "no request"),
            ("if ($host = a.test) { }", "no request"),
        ] {
            assert!(why_without_effect(text).contains(why), "{text}");
        }
    }

    #[test]
    fn only_defaults_make_no_difference() {
        for same in [
            "",
            "proxy_ssl_verify off;",
            "proxy_http_version 1.1;\nproxy_set_header Upgrade $http_upgrade;\nproxy_set_header Connection \"upgrade\";",
            "proxy_set_header X-Forwarded-Proto $scheme;",
            "server_tokens off;",
            "proxy_set_header Connection keep-alive; proxy_set_header Connection '';",
        ] {
            assert!(are_all(same), "{same}");
        }
        for other in [
            "proxy_ssl_verify on;",
            "proxy_ssl_verify off; gzip on;",
            "if ($a) { proxy_ssl_verify off; }",
            "proxy_set_header X-Forwarded-Proto https;",
            "proxy_set_header Connection close;",
            "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
            "proxy_ssl_verify off",
        ] {
            assert!(!are_all(other), "{other}");
        }
    }
}
