//! Parameters of FastCGI: those of nginx's `fastcgi_params`, those of the Ingress, and the request headers that pods get.
//!
//! A parameter `HTTP_NAME` takes the place of the client's header, in each spelling that becomes this name.

use std::collections::BTreeSet;

use sluice_host_table::variables;
use sluice_ir::{FastCgi, HttpRoute, Policy};

use crate::conf::{Text, Value, Word, word};
use crate::expression::{PORT, SCHEME, expression};

/// Parameters and their values.
pub(crate) struct FastCgiConf {
    pub(crate) index: Option<Word>,
    pub(crate) params: Vec<(Word, Value)>,
    /// Parameters that are sent unless they are empty: to applications, one that is there says something.
    pub(crate) unless_empty: Vec<(Word, Value)>,
}

impl FastCgiConf {
    /// Everything with a value.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &(Word, Value)> {
        self.params.iter().chain(&self.unless_empty)
    }

    /// `headers` are those for upstreams that speak HTTP; the first of a name counts.
    pub(crate) fn new(route: &HttpRoute, headers: Vec<(String, Text)>, by_table: bool) -> Self {
        let FastCgi { index, params } = &route.policy.fastcgi;
        let own = params
            .iter()
            .map(|(name, value)| (name.clone(), expression(value)));
        let is_unset = |(name, _): &(String, Text)| !params.contains_key(name);
        let usual = usual(&route.policy, by_table).into_iter().filter(is_unset);
        let mut seen = BTreeSet::new();
        let headers = headers
            .into_iter()
            .map(|(name, value)| (param(&name), value))
            .filter(|(name, _)| seen.insert(name.clone()));
        let https = ("HTTPS".to_owned(), Text::default().variable("https"));
        let https = Some(https).filter(is_unset);
        let quoted = |(name, value): (String, Text)| (word(name), value.quoted());
        FastCgiConf {
            index: index.as_ref().map(word),
            params: usual.chain(own).map(quoted).collect(),
            unless_empty: headers.chain(https).map(quoted).collect(),
        }
    }
}

/// As nginx's own file has them. `REMOTE_USER` is a user whose password was asked for: `$remote_user` is what any client claims.
fn usual(policy: &Policy, by_table: bool) -> Vec<(String, Text)> {
    let variable = |name: &'static str| Text::default().variable(name);
    let asks_everybody = policy
        .authentication
        .as_ref()
        .is_some_and(|authentication| {
            authentication.passwords.is_some() && !authentication.satisfy_any
        });
    let user = if asks_everybody {
        variable("remote_user")
    } else {
        Text::default()
    };
    let name = if by_table {
        variables::NAME
    } else {
        "server_name"
    };
    let all = [
        ("QUERY_STRING", variable("query_string")),
        ("REQUEST_METHOD", variable("request_method")),
        ("CONTENT_TYPE", variable("content_type")),
        ("CONTENT_LENGTH", variable("content_length")),
        ("SCRIPT_NAME", variable("fastcgi_script_name")),
        ("REQUEST_URI", variable("request_uri")),
        ("DOCUMENT_URI", variable("document_uri")),
        ("DOCUMENT_ROOT", variable("document_root")),
        ("SERVER_PROTOCOL", variable("server_protocol")),
        ("REQUEST_SCHEME", variable(SCHEME)),
        ("GATEWAY_INTERFACE", Text::default().then("CGI/1.1")),
        (
            "SERVER_SOFTWARE",
            Text::default().then("nginx/").variable("nginx_version"),
        ),
        ("REMOTE_ADDR", variable("remote_addr")),
        ("REMOTE_PORT", variable("remote_port")),
        ("REMOTE_USER", user),
        ("SERVER_ADDR", variable("server_addr")),
        ("SERVER_PORT", variable(PORT)),
        ("SERVER_NAME", variable(name)),
        ("REDIRECT_STATUS", Text::default().then("200")),
    ];
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

/// `HTTP_X_FORWARDED_FOR`
fn param(header: &str) -> String {
    format!("HTTP_{}", header.to_ascii_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_in_two_spellings_is_one_parameter() {
        assert_eq!(param("X-Remote_user"), "HTTP_X_REMOTE_USER");
    }
}
