//! What a check asks, and which expectations can be had of that: one that is looked at by nobody could never fail.

use serde_json::Value;

use super::schema::Check;

/// What a check asks.
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
    /// A signal to the controller.
    Signal(&'a str),
    /// A connection to a TCP service.
    Connection(u16),
    /// A question over TCP.
    Dns(&'a Value),
    /// Nothing but what the actions do.
    Nothing,
}

/// Expectations of the data plane and of the log can be had of everything.
const GENERAL: &[&str] = &["log_contains", "config_contains", "checksum_changed", "reload"];
const VALUE: &[&str] = &["equals", "set_equals", "absent"];
/// What cannot be expected of a request.
const NOT_OF_REQUESTS: &[&str] =
    &["allowed", "equals", "set_equals", "absent", "json", "json_name", "lines", "label_host", "answer"];

impl<'a> Asked<'a> {
    /// What a check asks.
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
            Asked::Signal(signal)
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

    /// Whether somebody looks at all of these expectations.
    ///
    /// # Errors
    /// The word that nobody looks at.
    pub fn fits(&self, words: &[String]) -> Result<(), String> {
        let fits = |word: &str| {
            let own = match self {
                Asked::Requests | Asked::Connection(_) => !NOT_OF_REQUESTS.contains(&word),
                Asked::Admission => {
                    ["allowed", "http_status", "body_contains", "body_not_contains"].contains(&word)
                }
                Asked::Read(_) | Asked::Signal(_) => VALUE.contains(&word),
                Asked::Exec(_) => ["lines", "json", "json_name", "body_contains"].contains(&word),
                Asked::Metric(_) => ["absent", "label_host", "equals", "total"].contains(&word),
                Asked::Dns(_) => word == "answer",
                Asked::Nothing => word == "endpoints_are",
            };
            own || GENERAL.contains(&word)
        };
        match words.iter().find(|word| !fits(word)) {
            Some(word) => Err(format!("`{word}` cannot be expected of this `when`")),
            None if words.is_empty() => Err("nothing is expected".to_owned()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fits(when: Value, word: &str) -> bool {
        let check = json!({ "when": when, "then": {} });
        let check: Check = serde_json::from_value(check).unwrap();
        Asked::of(&check).fits(&[word.to_owned()]).is_ok()
    }

    #[test]
    fn an_expectation_that_nobody_looks_at_does_not_fit() {
        assert!(fits(json!({ "path": "/" }), "status") && !fits(json!({ "path": "/" }), "allowed"));
        assert!(fits(json!({ "admission": "CREATE" }), "allowed"));
        assert!(!fits(json!({ "admission": "CREATE" }), "backend"));
        assert!(fits(json!({ "metric": "m" }), "absent") && !fits(json!({ "metric": "m" }), "status"));
        assert!(fits(json!({ "after": "x" }), "reload") && !fits(json!({ "after": "x" }), "status"));
        assert!(
            fits(json!({ "tcp_connect": 1 }), "status") && !fits(json!({ "dns_over_tcp": "a" }), "status")
        );
        assert!(Asked::Requests.fits(&[]).is_err());
    }
}
