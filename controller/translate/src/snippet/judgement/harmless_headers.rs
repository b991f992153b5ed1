//! Directives about headers that restrict no access.

use crate::snippet::defaults::request_headers;
use crate::snippet::syntax::reserved_variables::bare;

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

/// `proxy_set_header NAME VALUE`
pub(super) fn is_default_request_header(words: &[String]) -> bool {
    let [name, value] = words else { return false };
    OF_NO_CONSEQUENCE.contains(&name.to_ascii_lowercase().as_str())
        || request_headers::values(name).contains(&bare(value).as_str())
}

/// `more_set_input_headers "NAME: VALUE" ...`, without options.
pub(super) fn are_default_request_headers(words: &[String]) -> bool {
    let mut pairs = words.iter().map(|word| word.split_once(':'));
    pairs.all(|pair| {
        pair.is_some_and(|(name, value)| {
            is_default_request_header(&[name.trim().to_owned(), value.trim().to_owned()])
        })
    })
}

/// `more_set_headers "NAME: VALUE" ...`: takes nothing away, and lets no origin in or out.
pub(super) fn adds_response_headers(words: &[String]) -> bool {
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
