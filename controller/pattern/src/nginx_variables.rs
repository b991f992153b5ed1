//! Names of variables that mean something in nginx, or in ingress-nginx's configuration of it: whoever gives one of them another
//! value, with `set` or by the name of a group, changes more than his own.

/// Beginnings of the names of variables that come in any number, as one for each header, or that a module has many of.
#[rustfmt::skip]
const BEGINNINGS: &[&str] = &[
    "arg_", "auth_", "body_", "bytes_", "connection_", "cookie_", "fastcgi_", "http_", "limit_", "proxy_", "realip_", "remote_",
    "request_", "sent_", "server_", "ssl_", "tcpinfo_", "time_", "upstream_",
];

#[rustfmt::skip]
const NAMES: &[&str] = &[
    "args", "best_http_host", "binary_remote_addr", "connection", "host", "hostname", "http2", "http3", "https", "ingress_name",
    "is_args", "location_path", "msec", "namespace", "nginx_version", "pid", "pipe", "query_string", "request", "scheme",
    "service_name", "service_port", "status", "uri",
];

/// True of the name of such a variable, in lower case.
#[must_use]
pub fn is_variable_of_nginx(name: &str) -> bool {
    NAMES.contains(&name) || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}
