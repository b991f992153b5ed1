//! The kinds of checks and their valid expectations: an expectation that nothing reads could never fail.

use serde_json::Value;

use super::schema::Check;

/// A kind of check.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked<'a> {
    /// Requests.
    Requests,
    /// An admission review.
    Admission,
    /// A value of an object.
    Read(&'a str),
    /// A command.
    Exec(&'a str),
    /// A metric.
    Metric(&'a str),
    /// A signal to the controller, and under what.
    Signal(Under, &'a str),
    /// A connection to a TCP service.
    Connection(u16),
    /// A question over TCP.
    Dns(&'a Value),
    /// Nothing but what the actions do.
    Nothing,
}

/// The activity during a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// Nothing.
    Nothing,
    /// Requests that have been sent and not yet been answered.
    Requests,
}

/// Expectations of the data plane and of the log can be had of everything.
const GENERAL: &[&str] = &[
    "log_contains",
    "config_contains",
    "checksum_changed",
    "reload",
];
/// Expectations for which `null` is a value. Elsewhere it would be ignored.
const NULLABLE: &[&str] = &[
    "location",
    "backend",
    "set_cookie",
    "upstream_query",
    "upstream_sni",
    "upstream_client_cert",
    "equals",
    "label_host",
];
const VALUE: &[&str] = &["equals", "set_equals", "absent"];
/// Expectations that requests do not have.
const NOT_OF_REQUESTS: &[&str] = &[
    "allowed",
    "equals",
    "set_equals",
    "absent",
    "json",
    "json_name",
    "lines",
    "label_host",
    "answer",
];

impl<'a> Asked<'a> {
    /// The kind of a check.
    pub fn of(check: &'a Check) -> Asked<'a> {
        let when = &check.when;
        if when.admission.is_some() {
            Asked::Admission
        } else if let Some(what) = &when.read {
            Asked::Read(what)
        } else if let Some(command) = &when.exec {
            Asked::Exec(command)
        } else if let Some(name) = &when.metric {
            Asked::Metric(name)
        } else if let Some(signal) = &when.signal {
            let under = if when.is_request() {
                Under::Requests
            } else {
                Under::Nothing
            };
            Asked::Signal(under, signal)
        } else if let Some(question) = &when.dns_over_tcp {
            Asked::Dns(question)
        } else if let Some(port) = when.tcp_connect {
            Asked::Connection(port)
        } else if when.is_request() {
            Asked::Requests
        } else {
            Asked::Nothing
        }
    }

    /// Checks that every word of `when` and `then` is read.
    ///
    /// # Errors
    /// The first word that is not.
    pub fn fits(&self, when: &Value, then: &Value) -> Result<(), String> {
        self.fits_when(when)?;
        self.fits_then(then)
    }

    fn fits_when(&self, when: &Value) -> Result<(), String> {
        let fits = |word: &str| match self {
            Asked::Requests => !["object", "old_object", "request", "send"].contains(&word),
            Asked::Admission => ["admission", "object", "old_object"].contains(&word),
            Asked::Read(_) => word == "read",
            Asked::Exec(_) => word == "exec",
            Asked::Metric(_) => ["metric", "request"].contains(&word),
            // A signal while requests are under way.
            Asked::Signal(..) => !["object", "old_object", "request", "send"].contains(&word),
            Asked::Connection(_) => ["tcp_connect", "send", "proxy_header"].contains(&word),
            Asked::Dns(_) => ["dns_over_tcp", "tcp_connect"].contains(&word),
            Asked::Nothing => false,
        };
        let anywhere = |word: &str| ["after", "within_s"].contains(&word);
        let mut words = when.as_object().into_iter().flat_map(serde_json::Map::keys);
        match words.find(|word| !fits(word) && !anywhere(word)) {
            Some(word) => Err(format!("`{word}` is no part of this `when`")),
            None => Ok(()),
        }
    }

    fn fits_then(&self, then: &Value) -> Result<(), String> {
        let words = || then.as_object().into_iter().flatten();
        if let Some((word, _)) =
            words().find(|(word, value)| value.is_null() && !NULLABLE.contains(&word.as_str()))
        {
            return Err(format!("`{word}` is null, which says nothing"));
        }
        let fits = |word: &str| {
            let own = match self {
                Asked::Requests | Asked::Connection(_) | Asked::Signal(Under::Requests, _) => {
                    !NOT_OF_REQUESTS.contains(&word)
                }
                Asked::Admission => [
                    "allowed",
                    "http_status",
                    "body_contains",
                    "body_not_contains",
                ]
                .contains(&word),
                Asked::Read(_) | Asked::Signal(Under::Nothing, _) => VALUE.contains(&word),
                Asked::Exec(_) => ["lines", "json", "json_name", "body_contains"].contains(&word),
                Asked::Metric(_) => ["absent", "label_host", "equals", "total"].contains(&word),
                Asked::Dns(_) => word == "answer",
                Asked::Nothing => word == "endpoints_are",
            };
            own || GENERAL.contains(&word)
        };
        match words().find(|(word, _)| !fits(word)) {
            Some((word, _)) => Err(format!("`{word}` cannot be expected of this `when`")),
            None if words().next().is_none() => Err("nothing is expected".to_owned()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fits(when: Value, word: &str) -> bool {
        let check: Check = serde_json::from_value(json!({ "when": when, "then": {} })).unwrap();
        Asked::of(&check).fits(&when, &json!({ word: 1 })).is_ok()
    }

    #[test]
    fn an_expectation_that_nobody_looks_at_does_not_fit() {
        assert!(fits(json!({ "path": "/" }), "status") && !fits(json!({ "path": "/" }), "allowed"));
        assert!(fits(json!({ "admission": "CREATE" }), "allowed"));
        assert!(!fits(json!({ "admission": "CREATE" }), "backend"));
        assert!(
            fits(json!({ "metric": "m" }), "absent") && !fits(json!({ "metric": "m" }), "status")
        );
        assert!(
            fits(json!({ "after": "x" }), "reload") && !fits(json!({ "after": "x" }), "status")
        );
        assert!(
            fits(json!({ "tcp_connect": 1 }), "status")
                && !fits(json!({ "dns_over_tcp": "a" }), "status")
        );
        assert!(!fits(json!({ "path": "/", "send": "x" }), "status"));
        assert!(!fits(json!({ "tcp_connect": 1, "repeat": 2 }), "status"));
        assert!(Asked::Requests.fits_then(&json!({})).is_err());
        assert!(
            Asked::Requests
                .fits_then(&json!({ "location": null }))
                .is_ok()
        );
        assert!(
            Asked::Requests
                .fits_then(&json!({ "status": null }))
                .is_err()
        );
    }
}
