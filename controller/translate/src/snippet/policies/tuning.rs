//! Directives about how nginx works, and not what it answers: Sluice decides that for its data planes.

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

/// Reason why a directive is not needed; `None`: it is no such directive.
pub(in crate::snippet) fn reason(words: &[&str]) -> Option<&'static str> {
    match words {
        ["chunked_transfer_encoding", "on" | "off"] => {
            Some("clients of HTTP/1.1 take chunked responses")
        }
        ["proxy_cache" | "proxy_store", "off"] => Some("responses are not cached"),
        [name, ..] if OF_CACHES.contains(name) => Some("responses are not cached"),
        ["gzip", "off"] => Some("use-gzip of the ConfigMap decides what is compressed"),
        ["etag", "off"] => Some("it is about files of nginx"),
        [name, ..] if TUNING.contains(name) => Some("it tunes nginx"),
        [name, ..] if OBSOLETE.contains(name) => Some("nginx ignores it since 1.19.7"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::judgement::harmless::harmless_directives;

    /// Otherwise its paths would be closed where the rest of the snippet is not served.
    #[test]
    fn tuning_restricts_nobody() {
        let [(_, harmless), ..] = harmless_directives();
        for name in TUNING
            .iter()
            .chain(OBSOLETE)
            .chain(OF_CACHES)
            .chain(&["etag", "gzip"])
        {
            assert!(harmless.contains(&(name, None)), "{name}");
        }
    }
}
