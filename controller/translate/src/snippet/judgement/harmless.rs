//! Directives whose absence opens nothing: an allow-list over all that nginx and the modules of ingress-nginx have.
//!
//! A directive is here when, without it, nobody comes in who was kept out, no pod hears in a header what a client made up, and
//! no client sees what was hidden. Everything else may guard, also what is not known (R2 and R6 of the security rules).
//! Timeouts, buffers, and what tells browsers what they may do (`X-Frame-Options`) restrict no access.

use sluice_syntax::value;

use super::harmless_headers;
use crate::snippet::policies::tuning;
use crate::snippet::syntax::statements::Statement;

/// Context of a snippet: different directives belong there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnippetContext {
    /// `server {}`, `location {}`, and the location that asks an authentication service.
    Location,
    /// `http {}`
    Http,
    /// The main context.
    Main,
    /// `stream {}`
    Stream,
}

/// Settings that apply without the snippet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effective {
    /// Bytes of a request's body; `None` is no limit.
    pub(crate) largest_body: Option<u64>,
}

/// True of arguments with which a directive is harmless.
type Test = fn(&[String], Effective) -> bool;

/// Whatever their arguments, beside those of [`tuning`].
#[rustfmt::skip]
const ALWAYS: &[&str] = &[
    "absolute_redirect", "access_log", "add_header", "add_trailer", "brotli", "brotli_buffers", "brotli_comp_level",
    "brotli_min_length", "brotli_static", "brotli_types", "brotli_window", "charset", "charset_types",
    "chunked_transfer_encoding", "client_body_in_file_only", "client_body_timeout", "client_header_buffer_size",
    "client_header_timeout", "default_type", "etag", "expires", "grpc_buffer_size", "grpc_connect_timeout",
    "grpc_next_upstream", "grpc_next_upstream_timeout", "grpc_next_upstream_tries", "grpc_pass_header",
    "grpc_read_timeout", "grpc_send_timeout", "gunzip", "gunzip_buffers", "gzip", "gzip_buffers", "gzip_comp_level",
    "gzip_disable", "gzip_http_version", "gzip_min_length", "gzip_proxied", "gzip_static", "gzip_types", "gzip_vary",
    "http2", "http2_body_preread_size", "http2_chunk_size", "http2_max_concurrent_pushes",
    "http2_max_concurrent_streams", "http2_push", "http2_push_preload", "http2_recv_buffer_size", "if_modified_since",
    "keepalive_disable", "keepalive_min_timeout", "keepalive_requests", "keepalive_time", "keepalive_timeout",
    "large_client_header_buffers", "limit_conn_dry_run", "limit_conn_log_level", "limit_conn_status",
    "limit_rate_after", "limit_req_dry_run", "limit_req_log_level", "limit_req_status", "mirror", "mirror_request_body",
    "msie_padding", "msie_refresh", "opentelemetry", "opentelemetry_attribute", "opentelemetry_capture_headers",
    "opentelemetry_ignore_paths", "opentelemetry_operation_name", "opentelemetry_propagate",
    "opentelemetry_trust_incoming_spans", "override_charset", "port_in_redirect", "proxy_buffer_size",
    "proxy_buffering", "proxy_buffers", "proxy_busy_buffers_size", "proxy_cache", "proxy_cache_convert_head",
    "proxy_connect_timeout", "proxy_cookie_domain", "proxy_cookie_flags", "proxy_cookie_path", "proxy_force_ranges",
    "proxy_http_version", "proxy_ignore_client_abort", "proxy_next_upstream", "proxy_next_upstream_timeout",
    "proxy_next_upstream_tries", "proxy_pass_header", "proxy_read_timeout", "proxy_redirect", "proxy_request_buffering",
    "proxy_send_timeout", "proxy_ssl_server_name", "send_timeout", "server_tokens", "source_charset", "ssl_buffer_size",
    "ssl_session_cache", "ssl_session_ticket_key", "ssl_session_tickets", "ssl_session_timeout", "ssl_stapling",
    "ssl_stapling_file", "ssl_stapling_responder", "ssl_stapling_verify", "sub_filter_last_modified", "sub_filter_once",
    "sub_filter_types",
];

/// In `http {}`, beside those. Zones and variables do nothing until another directive uses them, which is judged itself.
#[rustfmt::skip]
const IN_HTTP: &[&str] = &[
    "fastcgi_cache_path", "limit_conn_zone", "limit_req_zone", "log_format", "map_hash_bucket_size", "map_hash_max_size",
    "proxy_cache_path", "server_names_hash_bucket_size", "server_names_hash_max_size", "types_hash_bucket_size",
    "types_hash_max_size", "variables_hash_bucket_size", "variables_hash_max_size",
];

/// In the main context.
#[rustfmt::skip]
const IN_MAIN: &[&str] = &[
    "daemon", "debug_points", "env", "error_log", "lock_file", "master_process", "pcre_jit", "pid", "ssl_engine",
    "thread_pool", "timer_resolution", "user", "worker_cpu_affinity", "worker_priority", "worker_processes",
    "worker_rlimit_core", "worker_rlimit_nofile", "worker_shutdown_timeout", "working_directory",
];

/// In `stream {}`.
#[rustfmt::skip]
const IN_STREAM: &[&str] = &[
    "access_log", "error_log", "limit_conn_zone", "log_format", "map_hash_bucket_size", "map_hash_max_size",
    "preread_buffer_size", "preread_timeout", "proxy_buffer_size", "proxy_connect_timeout", "proxy_half_close",
    "proxy_next_upstream", "proxy_next_upstream_timeout", "proxy_next_upstream_tries", "proxy_requests",
    "proxy_responses", "proxy_socket_keepalive", "proxy_timeout", "resolver", "resolver_timeout", "tcp_nodelay",
    "variables_hash_bucket_size", "variables_hash_max_size",
];

/// With some arguments, which the text names.
const SOMETIMES: &[(&str, &str, Test)] = &[
    (
        "client_max_body_size",
        "when it is no less than what holds anyway",
        |words, effective| allows_no_less(words, effective).unwrap_or(false),
    ),
    ("grpc_hide_header", SOFTWARE, |words, _| {
        harmless_headers::names_software(words)
    }),
    ("grpc_set_header", DEFAULT_HEADERS, |words, _| {
        harmless_headers::is_default_request_header(words)
    }),
    ("grpc_ssl_verify", OFF, |words, _| words == ["off"]),
    ("more_clear_headers", SOFTWARE, |words, _| {
        harmless_headers::names_software(words)
    }),
    (
        "more_set_headers",
        "with values, and not for an origin in `Access-Control-Allow-Origin`",
        |words, _| harmless_headers::adds_response_headers(words),
    ),
    ("more_set_input_headers", DEFAULT_HEADERS, |words, _| {
        harmless_headers::are_default_request_headers(words)
    }),
    ("proxy_hide_header", SOFTWARE, |words, _| {
        harmless_headers::names_software(words)
    }),
    (
        "proxy_ignore_headers",
        "without `X-Accel-Redirect`",
        |words, _| {
            !words
                .iter()
                .any(|name| name.eq_ignore_ascii_case("x-accel-redirect"))
        },
    ),
    ("proxy_intercept_errors", OFF, |words, _| words == ["off"]),
    ("proxy_pass_request_body", ON, |words, _| words == ["on"]),
    ("proxy_pass_request_headers", ON, |words, _| words == ["on"]),
    ("proxy_set_header", DEFAULT_HEADERS, |words, _| {
        harmless_headers::is_default_request_header(words)
    }),
    ("proxy_ssl_verify", OFF, |words, _| words == ["off"]),
    (
        "sub_filter",
        "when what it replaces is a part of what it puts there",
        |words, _| hides_no_text(words),
    ),
    ("underscores_in_headers", ON, |words, _| words == ["on"]),
];
const SOFTWARE: &str = "of headers that name software: `Server`, `X-Powered-By` and the like";
const DEFAULT_HEADERS: &str = "for what pods are told anyway: `Host $host`, `X-Forwarded-For $remote_addr`, `Upgrade`, `Connection` and the like";
const ON: &str = "`on`";
const OFF: &str = "`off`";

/// Blocks that only define something. Nothing in them is a directive.
const DEFINITIONS: &[&str] = &[
    "charset_map",
    "geo",
    "geoip2",
    "map",
    "split_clients",
    "upstream",
];

/// Ports of Ingresses in a cluster.
const SERVED: [u16; 2] = [80, 443];

/// Content of a block of a harmless directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::snippet) enum Content {
    /// Directives, which count.
    Directives,
    /// Entries, which do not.
    Entries,
    /// A server, which counts if it listens where paths of Ingresses are served.
    Server,
}

/// True if nothing is opened by leaving out this statement, including its block.
pub(super) fn is_harmless(
    statement: &Statement,
    place: SnippetContext,
    effective: Effective,
) -> bool {
    let Some((name, arguments)) = statement.words.split_first() else {
        return false;
    };
    if statement.opens {
        return block(name, place).is_some();
    }
    let has = |list: &[&str]| list.contains(&name.as_str());
    let test = || SOMETIMES.iter().find(|(known, ..)| known == name);
    let always = || has(ALWAYS) || tuning::is_one(name);
    let in_http = || always() || test().is_some_and(|(.., test)| test(arguments, effective));
    match place {
        SnippetContext::Location => in_http(),
        SnippetContext::Http => has(IN_HTTP) || in_http(),
        SnippetContext::Main => has(IN_MAIN),
        SnippetContext::Stream => has(IN_STREAM),
    }
}

/// Content of a directive's block; `None`: it may restrict access.
pub(in crate::snippet) fn block(name: &str, place: SnippetContext) -> Option<Content> {
    match (name, place) {
        // A condition alone changes nothing.
        ("if", SnippetContext::Location) => Some(Content::Directives),
        ("types", SnippetContext::Location | SnippetContext::Http) => Some(Content::Entries),
        // A port of its own: without it nothing listens there.
        ("server", SnippetContext::Stream) => Some(Content::Entries),
        ("server", SnippetContext::Http) => Some(Content::Server),
        (name, SnippetContext::Http | SnippetContext::Stream) if DEFINITIONS.contains(&name) => {
            Some(Content::Entries)
        }
        _ => None,
    }
}

/// True if a directive of a server is a port that no Ingress is served on. The usual one, of a server that names none, is 80.
pub(super) fn listens_elsewhere(words: &[String]) -> bool {
    let [name, address, ..] = words else {
        return false;
    };
    let port = address.rsplit(':').next().unwrap_or_default();
    let is_elsewhere = port
        .parse::<u16>()
        .is_ok_and(|port| !SERVED.contains(&port));
    name == "listen" && (is_elsewhere || address.starts_with("unix:"))
}

/// No larger bodies come in without it.
fn allows_no_less(words: &[String], effective: Effective) -> Option<bool> {
    let [size] = words else { return None };
    let said = value::size(size).ok()?;
    Some(
        said == 0
            || effective
                .largest_body
                .is_some_and(|largest| largest <= said),
    )
}

/// True if the replaced text is still in the replacement.
fn hides_no_text(words: &[String]) -> bool {
    matches!(words, [from, to] if !from.is_empty() && to.contains(from.as_str()))
}

/// A directive, and when it is harmless if not always.
pub type Documented = (&'static str, Option<&'static str>);

/// Every directive that closes nothing, for the documentation, by where it stands.
#[must_use]
pub fn harmless_directives() -> [(&'static str, Vec<Documented>); 4] {
    const BLOCK: &str = "with a block that holds nothing else";
    let always = |list: &[&'static str]| list.iter().map(|name| (*name, None)).collect::<Vec<_>>();
    let blocks = |list: &[&'static str], text| {
        list.iter()
            .map(|name| (*name, Some(text)))
            .collect::<Vec<_>>()
    };
    let sometimes = SOMETIMES
        .iter()
        .map(|(name, when, _)| (*name, Some(*when)))
        .collect();
    let defines = || blocks(DEFINITIONS, "with a block");
    let all = [
        (
            "In a server or a location",
            vec![
                always(ALWAYS),
                tuning::names().map(|name| (name, None)).collect(),
                sometimes,
                blocks(&["if"], BLOCK),
                blocks(&["types"], "with a block"),
            ],
        ),
        (
            "In `http-snippet`, beside those (but for `if`)",
            vec![
                always(IN_HTTP),
                defines(),
                blocks(
                    &["server"],
                    "with a block, if it listens neither on 80 nor on 443",
                ),
            ],
        ),
        ("In `main-snippet`", vec![always(IN_MAIN)]),
        (
            "In `stream-snippet`",
            vec![
                always(IN_STREAM),
                defines(),
                blocks(&["server"], "with a block"),
            ],
        ),
    ];
    all.map(|(title, lists)| {
        let mut directives = lists.concat();
        directives.sort_unstable();
        (title, directives)
    })
}
