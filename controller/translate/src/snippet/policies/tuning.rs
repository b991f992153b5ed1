//! Directives about how nginx works, and not what it answers: Sluice decides that for its data planes.
//!
//! None of them may restrict access, whatever its arguments: `judgement/harmless.rs` takes them from here.

/// They change no byte of a request or a response that anybody can rely on.
#[rustfmt::skip]
const TUNING: &[&str] = &[
    "aio", "aio_write", "client_body_buffer_size", "client_body_in_single_buffer", "client_body_temp_path", "connection_pool_size", "directio",
    "directio_alignment", "error_log", "grpc_socket_keepalive", "lingering_close", "lingering_time", "lingering_timeout", "log_not_found", "log_subrequest",
    "open_file_cache", "open_file_cache_errors", "open_file_cache_min_uses", "open_file_cache_valid", "open_log_file_cache",
    "output_buffers", "postpone_output", "proxy_headers_hash_bucket_size", "proxy_headers_hash_max_size",
    "proxy_max_temp_file_size", "proxy_send_lowat", "proxy_socket_keepalive", "proxy_ssl_session_reuse",
    "proxy_temp_file_write_size",
    "proxy_temp_path", "read_ahead", "request_pool_size", "reset_timedout_connection", "resolver", "resolver_timeout",
    "rewrite_log", "send_lowat", "sendfile", "sendfile_max_chunk", "tcp_nodelay", "tcp_nopush",
    "uninitialized_variable_warn",
];

/// Directives about the cache that `proxy_cache` switches on.
const OF_CACHES: &[&str] = &[
    "proxy_cache_background_update",
    "proxy_cache_bypass",
    "proxy_cache_key",
    "proxy_cache_lock",
    "proxy_cache_lock_age",
    "proxy_cache_lock_timeout",
    "proxy_cache_max_range_offset",
    "proxy_cache_methods",
    "proxy_cache_min_uses",
    "proxy_cache_revalidate",
    "proxy_cache_use_stale",
    "proxy_cache_valid",
    "proxy_no_cache",
];

/// Of nginx before 1.19.7; since then they are accepted, and do nothing.
const OBSOLETE: &[&str] = &[
    "http2_idle_timeout",
    "http2_max_field_size",
    "http2_max_header_size",
    "http2_max_requests",
    "http2_recv_timeout",
];

const NOT_CACHED: &str = "responses are not cached";

/// All of these, and the reason why they are not needed.
const LISTS: [(&[&str], &str); 3] = [
    (TUNING, "it tunes nginx"),
    (OF_CACHES, NOT_CACHED),
    (OBSOLETE, "nginx ignores it since 1.19.7"),
];

/// Names of all that are not needed whatever their arguments.
pub(in crate::snippet) fn names() -> impl Iterator<Item = &'static str> {
    LISTS.into_iter().flat_map(|(names, _)| names).copied()
}

/// True of one of [`names`].
pub(in crate::snippet) fn is_one(name: &str) -> bool {
    names().any(|one| one == name)
}

/// Reason why a directive is not needed; `None`: it is no such directive.
pub(in crate::snippet) fn reason(words: &[&str]) -> Option<&'static str> {
    match words {
        ["chunked_transfer_encoding", "on" | "off"] => {
            Some("clients of HTTP/1.1 take chunked responses")
        }
        ["proxy_cache" | "proxy_store", "off"] => Some(NOT_CACHED),
        ["gzip", "off"] => Some("use-gzip of the ConfigMap decides what is compressed"),
        ["etag", "off"] => Some("it is about files of nginx"),
        [name, ..] => {
            let found = LISTS.iter().find(|(names, _)| names.contains(name));
            found.map(|(_, reason)| *reason)
        }
        [] => None,
    }
}
