//! nginx's modules that speak to upstreams: each has directives of its own for the same settings.

use std::fmt;

use sluice_ir::{Protocol, RetryOn};

/// Prefix of the directives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Module {
    Proxy,
    Grpc,
    FastCgi,
}

/// Statuses that `fastcgi_next_upstream` does not know.
const NOT_FASTCGIS: [u16; 2] = [502, 504];

impl Module {
    pub(crate) fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http1 => Module::Proxy,
            Protocol::Http2 => Module::Grpc,
            Protocol::FastCgi => Module::FastCgi,
        }
    }

    /// Scheme before the name of an upstream.
    pub(crate) fn scheme(self, is_tls: bool) -> &'static str {
        match (self, is_tls) {
            (Module::Proxy, false) => "http://",
            (Module::Proxy, true) => "https://",
            (Module::Grpc, false) => "grpc://",
            (Module::Grpc, true) => "grpcs://",
            (Module::FastCgi, _) => "",
        }
    }

    /// True if names of headers are hashed into buckets whose size nobody can set.
    pub(crate) fn has_small_buckets(self) -> bool {
        self != Module::Proxy
    }

    /// Conditions of retries. Those of FastCGI that are missing are reported ([`Module::lacks`]).
    pub(crate) fn next_upstream(self, on: &RetryOn) -> String {
        let words = [
            (on.error, "error"),
            (on.timeout, "timeout"),
            (on.invalid_header, "invalid_header"),
            (on.non_idempotent, "non_idempotent"),
        ];
        let mut words: Vec<String> = words
            .into_iter()
            .filter(|(is_on, _)| *is_on)
            .map(|(_, word)| word.to_owned())
            .collect();
        let statuses = on.statuses.iter().filter(|status| !self.lacks(**status));
        words.extend(statuses.map(|status| format!("http_{status}")));
        if words.is_empty() {
            "off".to_owned()
        } else {
            words.join(" ")
        }
    }

    /// True if a response with this status cannot be tried again.
    pub(crate) fn lacks(self, status: u16) -> bool {
        self == Module::FastCgi && NOT_FASTCGIS.contains(&status)
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Module::Proxy => "proxy",
            Module::Grpc => "grpc",
            Module::FastCgi => "fastcgi",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_have_nginxs_words() {
        let next = |on: &RetryOn| Module::Proxy.next_upstream(on);
        assert_eq!(next(&RetryOn::default()), "error timeout");
        assert_eq!(next(&RetryOn::never()), "off");
        let on = RetryOn {
            statuses: [502, 503].into(),
            non_idempotent: true,
            ..RetryOn::never()
        };
        assert_eq!(next(&on), "non_idempotent http_502 http_503");
        let fastcgi = Module::FastCgi.next_upstream(&on);
        assert_eq!(fastcgi, "non_idempotent http_503");
    }
}
