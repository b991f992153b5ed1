//! Directives about headers that restrict no access.

use crate::snippet::syntax::variables::bare;

/// Headers that name software: nobody is kept out where they are hidden.
const OF_SOFTWARE: &[&str] = &[
    // Linkerd's documentation hides what its proxy once said.
    "l5d-remote-ip",
    "l5d-server-id",
    "server",
    "via",
    "x-aspnet-version",
    "x-aspnetmvc-version",
    "x-generator",
    "x-powered-by",
    "x-runtime",
];

/// Headers that pods are told in any case, whatever a client says, and the values that say the same.
const SAID_ANYWAY: &[(&str, &[&str])] = &[
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

/// Headers of a connection, or about the encoding of a response: no access depends on their values.
const OF_NO_CONSEQUENCE: &[&str] = &["accept-encoding", "connection"];

/// `proxy_hide_header NAME`, `more_clear_headers NAME ...`
pub(super) fn names_software(names: &[String]) -> bool {
    // Names of several headers stand in one word, too; `*` stands for any.
    let mut names = names
        .iter()
        .flat_map(|word| word.split([' ', ',']))
        .filter(|name| !name.is_empty());
    names.all(|name| {
        OF_SOFTWARE
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    })
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
    let same = SAID_ANYWAY.iter().find(|(known, _)| *known == name);
    same.is_some_and(|(_, values)| values.contains(&value.as_str()))
        && !OTHERS.contains(&value.as_str())
}

/// `proxy_set_header NAME VALUE`
pub(super) fn is_said_anyway(words: &[String]) -> bool {
    let [name, value] = words else { return false };
    let name = name.to_ascii_lowercase();
    let same = SAID_ANYWAY.iter().find(|(known, _)| *known == name);
    OF_NO_CONSEQUENCE.contains(&name.as_str())
        || same.is_some_and(|(_, values)| values.contains(&bare(value).as_str()))
}

/// `more_set_input_headers "NAME: VALUE" ...`, without options.
pub(super) fn are_said_anyway(words: &[String]) -> bool {
    let mut pairs = words.iter().map(|word| word.split_once(':'));
    pairs.all(|pair| {
        pair.is_some_and(|(name, value)| {
            is_said_anyway(&[name.trim().to_owned(), value.trim().to_owned()])
        })
    })
}

/// `more_set_headers "NAME: VALUE" ...`: takes nothing away, and lets no origin in or out.
pub(super) fn adds_to_answers(words: &[String]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            // For these statuses or types only; what follows says which.
            "-s" | "-t" => drop(words.next()),
            "-a" => {}
            pair if is_added(pair) => {}
            _ => return false,
        }
    }
    true
}

fn is_added(pair: &str) -> bool {
    let Some((name, value)) = pair.split_once(':') else {
        return false;
    };
    let (name, value) = (name.trim(), value.trim());
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    // It would take the place of what the pod says, which may be everybody.
    let narrows = name.eq_ignore_ascii_case("access-control-allow-origin")
        && !["*", "$http_origin"].contains(&value);
    is_name && !value.is_empty() && !narrows
}
