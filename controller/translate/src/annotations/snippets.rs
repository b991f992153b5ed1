//! Snippets: raw nginx configuration, which Sluice never takes (R1 of the security rules).

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::directives::instead;
use crate::object::shortened;
use crate::support::DataPlane;

const INSTEAD: &str = "no raw nginx configuration; the report names what takes the place of its directives";

pub(super) const GROUP: Group = Group {
    title: "Snippets",
    annotations: &[
        annotation("configuration-snippet", Value::Text, Risk::Critical, Scope::Location).instead(INSTEAD),
        annotation("server-snippet", Value::Text, Risk::Critical, Scope::Ingress).instead(INSTEAD),
        annotation("stream-snippet", Value::Text, Risk::Critical, Scope::Ingress)
            .instead("no raw nginx configuration"),
    ],
};

/// Directives without which a location is served differently, but not to anybody else.
const CLOSES_NOTHING: [&str; 54] = [
    "access_log",
    "add_header",
    "charset",
    "client_body_buffer_size",
    "client_body_timeout",
    "client_header_buffer_size",
    "client_header_timeout",
    "client_max_body_size",
    "error_log",
    "etag",
    "expires",
    "gzip",
    "gzip_comp_level",
    "gzip_min_length",
    "gzip_proxied",
    "gzip_static",
    "gzip_types",
    "gzip_vary",
    "keepalive_requests",
    "keepalive_timeout",
    "large_client_header_buffers",
    "log_subrequest",
    "more_clear_headers",
    "more_clear_input_headers",
    "more_set_headers",
    "more_set_input_headers",
    "port_in_redirect",
    "proxy_buffer_size",
    "proxy_buffering",
    "proxy_buffers",
    "proxy_busy_buffers_size",
    "proxy_connect_timeout",
    "proxy_cookie_domain",
    "proxy_cookie_flags",
    "proxy_cookie_path",
    "proxy_force_ranges",
    "proxy_hide_header",
    "proxy_http_version",
    "proxy_ignore_client_abort",
    "proxy_ignore_headers",
    "proxy_max_temp_file_size",
    "proxy_next_upstream",
    "proxy_pass_header",
    "proxy_pass_request_headers",
    "proxy_read_timeout",
    "proxy_redirect",
    "proxy_request_buffering",
    "proxy_send_timeout",
    "proxy_set_header",
    "send_timeout",
    "server_tokens",
    "sub_filter",
    "sub_filter_once",
    "sub_filter_types",
];

/// What is to be said of a snippet.
pub(super) struct Judgement {
    /// What to use instead of it.
    pub(super) advice: String,
    /// The directive for whose sake the locations are closed.
    pub(super) closing: Option<String>,
}

/// A snippet may hold `deny all;`, a password, or a `return 403`. Unless every directive in it is known to close
/// nothing, the locations of its Ingress are closed. `None`: that is no such snippet.
pub(super) fn judge(name: &str, value: &str, data_plane: Option<DataPlane>) -> Option<Judgement> {
    if !["configuration-snippet", "server-snippet"].contains(&name) {
        return None;
    }
    let directives = directives(value);
    let closing = directives.iter().find(|directive| !CLOSES_NOTHING.contains(&directive.as_str()));
    let advice = match instead(&directives, data_plane) {
        none if none.is_empty() => "no raw nginx configuration".to_owned(),
        instead => format!("no raw nginx configuration; use {instead}"),
    };
    Some(Judgement { advice, closing: closing.map(|directive| shortened(directive)) })
}

/// The first word of every statement, as nginx reads them: quotes hold statements together, comments do not count.
fn directives(snippet: &str) -> Vec<String> {
    let mut directives = vec![String::new()];
    let (mut quote, mut is_past_word) = (None, false);
    let mut letters = snippet.chars();
    while let Some(letter) = letters.next() {
        let is_between = directives.last().is_some_and(String::is_empty);
        match letter {
            '\\' => drop(letters.next()),
            _ if quote == Some(letter) => quote = None,
            _ if quote.is_some() => {}
            '"' | '\'' => quote = Some(letter),
            '#' if is_between => drop(letters.by_ref().find(|letter| *letter == '\n')),
            ';' | '{' | '}' => {
                directives.push(String::new());
                is_past_word = false;
            }
            _ if letter.is_whitespace() => is_past_word = !is_between,
            _ if is_past_word => {}
            _ => directives.last_mut().into_iter().for_each(|word| word.push(letter)),
        }
    }
    directives.retain(|word| !word.is_empty());
    directives
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(snippet: &str) -> Vec<String> {
        let all = directives(snippet).into_iter();
        all.filter(|directive| !CLOSES_NOTHING.contains(&directive.as_str())).collect()
    }

    #[test]
    fn headers_and_timeouts_close_nothing() {
        let snippet =
            "more_set_headers\n  \"X-A: 1; deny all;\"; # deny all;\n# deny all;\nproxy_read_timeout 5s;";
        assert_eq!(directives(snippet), ["more_set_headers", "proxy_read_timeout"]);
        assert!(unknown(snippet).is_empty());
    }

    #[test]
    fn what_may_close_something_is_found_wherever_it_stands() {
        for snippet in [
            "deny all;",
            "gzip on; deny all;",
            "if ($http_x = 1) { return 403; }",
            "location /admin { internal; }",
            "add_header A \"b; # c\"; satisfy any;",
            "auth_basic x;",
            "access_by_lua_block { ngx.exit(403) }",
        ] {
            assert!(!unknown(snippet).is_empty(), "{snippet}");
        }
    }
}
