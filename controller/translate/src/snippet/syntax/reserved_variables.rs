//! Variables that mean something to nginx or to ingress-nginx: whoever sets one changes more than his own conditions.

use sluice_syntax::expression;

/// Further ones of nginx, of its modules in ingress-nginx, and those that ingress-nginx's template sets.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "balancer_ewma_score", "block_ref", "block_ua", "cache_key", "content_length", "content_type", "date_gmt", "date_local",
    "document_root", "document_uri", "full_x_forwarded_for", "invalid_referer", "literal_dollar", "loggable", "memcached_key",
    "mirror_uri", "pass_access_scheme", "pass_port", "pass_server_port", "realpath_root", "redirect_to", "req_id", "target",
    "the_real_ip", "tmp_cache_key",
];

/// Beginnings of the names of the others.
#[rustfmt::skip]
const BEGINNINGS: &[&str] = &[
    "allowlist_", "ancient_", "binary_", "brotli_", "connections_", "forwarded_for_", "geoip2_", "geoip_", "gzip_", "host", "http",
    "jwt_", "modern_", "msec", "msie", "nginx_", "opentelemetry_", "otel_", "scheme", "secure_link", "session_", "sluice_", "slice_",
    "spdy", "uid_",
];

/// True if a variable is more than a snippet's own. `name` is in lower case.
pub(in crate::snippet) fn has_a_meaning(name: &str) -> bool {
    sluice_pattern::is_variable_of_nginx(name)
        || NAMES.contains(&name)
        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
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
            "request",
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
