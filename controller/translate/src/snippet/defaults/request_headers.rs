//! Headers of requests to pods that ingress-nginx sets in every location.

use crate::snippet::syntax::reserved_variables::bare;

/// Headers that pods are told in any case, whatever a client says, and the values that say the same.
const ALL: &[(&str, &[&str])] = &[
    ("host", &["$host", "$http_host", "$best_http_host"]),
    ("proxy", &[""]),
    ("upgrade", &["$http_upgrade"]),
    (
        "x-forwarded-for",
        &[
            "$remote_addr",
            "$the_real_ip",
            "$proxy_add_x_forwarded_for",
            "$full_x_forwarded_for",
        ],
    ),
    (
        "x-forwarded-host",
        &["$host", "$http_host", "$best_http_host"],
    ),
    (
        "x-forwarded-port",
        &["$server_port", "$pass_server_port", "$pass_port"],
    ),
    (
        "x-forwarded-proto",
        &["$scheme", "$pass_access_scheme", "https"],
    ),
    (
        "x-forwarded-scheme",
        &["$scheme", "$pass_access_scheme", "https"],
    ),
    ("x-real-ip", &["$remote_addr", "$the_real_ip"]),
    ("x-request-id", &["$req_id", "$request_id"]),
    ("x-scheme", &["$scheme", "$pass_access_scheme", "https"]),
];

/// Values of a header that pods are told in any case; none of any other.
pub(in crate::snippet) fn values(name: &str) -> &'static [&'static str] {
    let mut all = ALL.iter();
    let found = all.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map_or(&[], |(_, values)| values)
}

/// True if pods get this header with this value from every location. `Connection: upgrade` is that of a request that asks for one, and
/// connections are kept anyway.
pub(in crate::snippet) fn is_set(name: &str, value: &str) -> bool {
    const OTHERS: [&str; 3] = [
        "https",
        "$full_x_forwarded_for",
        "$proxy_add_x_forwarded_for",
    ];
    const CONNECTIONS: [&str; 4] = ["upgrade", "$connection_upgrade", "keep-alive", ""];
    let name = name.to_ascii_lowercase();
    let value = bare(value);
    if name == "connection" {
        return CONNECTIONS.contains(&value.to_ascii_lowercase().as_str());
    }
    values(&name).contains(&value.as_str()) && !OTHERS.contains(&value.as_str())
}
