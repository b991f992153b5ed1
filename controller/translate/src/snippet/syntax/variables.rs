//! Variables that mean something to nginx or to ingress-nginx: whoever sets one changes more than his own conditions.

use sluice_syntax::expression;

/// Those of nginx that are not values of a request, and those that ingress-nginx's template sets.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "args", "auth_cookie", "auth_email", "auth_user", "balancer_ewma_score", "best_http_host", "block_ref", "block_ua",
    "cache_key", "connection", "connection_upgrade", "content_length", "content_type", "date_gmt", "date_local", "document_root", "document_uri",
    "full_x_forwarded_for", "ingress_name", "invalid_referer", "is_args", "limit_rate", "literal_dollar",
    "location_path", "loggable", "memcached_key", "mirror_uri", "namespace",
    "pass_access_scheme", "pass_port", "pass_server_port", "pid", "pipe", "proxy_alternative_upstream_name", "proxy_host",
    "proxy_port", "proxy_upstream_name", "query_string", "realpath_root", "redirect_to", "remote_user", "req_id",
    "service_name", "service_port", "status", "target", "the_real_ip", "tmp_cache_key", "uri",
];

/// Beginnings of the names of the others.
#[rustfmt::skip]
const PREFIXES: &[&str] = &[
    "allowlist_", "ancient_", "arg_", "auth_", "binary_", "body_", "brotli_", "bytes_", "connection_", "connections_", "cookie_",
    "fastcgi_", "forwarded_for_", "geoip2_", "geoip_", "gzip_", "host", "http", "jwt_", "limit_", "modern_", "msec", "msie",
    "nginx_", "opentelemetry_", "otel_", "proxy_", "realip_",
    "remote_", "request_", "scheme", "secure_link", "sent_", "server_", "session_", "sluice_", "slice_", "spdy", "ssl_",
    "tcpinfo_", "time_", "uid_", "upstream_",
];

/// True if a variable is more than a snippet's own. `name` is in lower case.
pub(in crate::snippet) fn has_a_meaning(name: &str) -> bool {
    NAMES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || expression::parse(&format!("${{{name}}}")).is_ok()
}

/// A variable without braces: `${name}` is `$name`. Other texts stay what they are.
pub(in crate::snippet) fn bare(value: &str) -> String {
    match value
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
    {
        Some(name) => format!("${name}"),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_no_meaning_are_free() {
        for name in [
            "args",
            "limit_rate",
            "http_a",
            "sluice_holds",
            "service_name",
            "host",
            "https",
        ] {
            assert!(has_a_meaning(name), "{name}");
        }
        for name in [
            "flag",
            "block",
            "agentflag",
            "is_bot",
            "a",
            "redirect_mobile",
        ] {
            assert!(!has_a_meaning(name), "{name}");
        }
    }
}
