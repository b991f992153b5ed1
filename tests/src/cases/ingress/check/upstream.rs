//! Checks of the requests that pods received.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use super::answer::compare;
use super::{Observed, plain, push_once, shown};
use crate::cases::ingress::certificates::Owner;
use crate::cases::ingress::expect;
use crate::cases::ingress::then::Then;
use crate::echo::Received;

impl Observed<'_> {
    pub(super) fn upstream(&self, then: &Then, reasons: &mut Vec<String>) -> Result<(), String> {
        if let Some(expected) = then.proxied
            && expected == self.received.is_empty()
        {
            push_once(
                reasons,
                format!(
                    "proxied: expected {expected}, pods saw {}",
                    self.received.len()
                ),
            );
        }
        self.hits(then, reasons)?;
        if expects_something_of_a_request(then) {
            let seen = self.seen_by_the_answering_pods();
            if seen.is_empty() {
                push_once(reasons, "no pod saw the request".to_owned());
            }
            for received in seen {
                self.request(received, then, reasons)?;
            }
        }
        if let Some(expected) = &then.auth_request {
            match self.auth.last() {
                Some(received) => self.auth_request(received, expected, reasons)?,
                None => push_once(
                    reasons,
                    "auth_request: the auth service saw no request".to_owned(),
                ),
            }
        }
        Ok(())
    }

    fn hits(&self, then: &Then, reasons: &mut Vec<String>) -> Result<(), String> {
        let mut count = |name: &str, expected: &Value, actual: usize| {
            if !expect::number(expected, actual as f64, actual as f64)? {
                push_once(
                    reasons,
                    format!("upstream_hits{name}: expected {expected}, got {actual}"),
                );
            }
            Ok::<(), String>(())
        };
        match &then.upstream_hits {
            Some(Value::Object(by_name)) => by_name.iter().try_for_each(|(name, expected)| {
                let all = self.received.iter().chain(&self.auth);
                let of_name =
                    all.filter(|received| received.service == *name || received.pod == *name);
                count(&format!(" {name}"), expected, of_name.count())
            }),
            Some(expected) => count("", expected, self.received.len()),
            None => Ok(()),
        }
    }

    /// Beside the request proper, pods may see mirrored ones and ones that another pod answered in the end.
    fn seen_by_the_answering_pods(&self) -> Vec<&Received> {
        let answers = self
            .exchanges
            .iter()
            .filter_map(|exchange| exchange.answer.as_ref().ok());
        let pods: BTreeSet<&str> = answers.filter_map(|answer| answer.pod()).collect();
        let seen = self
            .received
            .iter()
            .filter(|received| pods.contains(received.pod.as_str()));
        let seen: Vec<&Received> = seen.collect();
        if seen.is_empty() {
            self.received.iter().collect()
        } else {
            seen
        }
    }

    fn request(
        &self,
        seen: &Received,
        then: &Then,
        reasons: &mut Vec<String>,
    ) -> Result<(), String> {
        let mut same = |word: &str, expected: Option<&str>, actual: Option<&str>| {
            if expected.is_some() && expected != actual {
                push_once(
                    reasons,
                    format!(
                        "{word}: expected {}, got {}",
                        shown(expected),
                        shown(actual)
                    ),
                );
            }
        };
        same(
            "upstream_path",
            then.upstream_path.as_deref(),
            Some(&seen.path),
        );
        same(
            "upstream_method",
            then.upstream_method.as_deref(),
            Some(&seen.method),
        );
        let proto = then.upstream_proto.as_deref().map(|proto| match proto {
            "HTTP/2" | "h2" | "http2" | "grpc" => "HTTP/2.0",
            other => other,
        });
        same("upstream_proto", proto, Some(&seen.http));
        if let Some(expected) = &then.upstream_query {
            let none_is_empty = |query: &Option<String>| query.clone().unwrap_or_default();
            same(
                "upstream_query",
                Some(&none_is_empty(expected)),
                Some(&none_is_empty(&seen.query)),
            );
        }
        if let Some(expected) = &then.upstream_sni
            && *expected != seen.connection.sni
        {
            let (expected, actual) = (
                shown(expected.as_deref()),
                shown(seen.connection.sni.as_deref()),
            );
            push_once(
                reasons,
                format!("upstream_sni: expected {expected}, got {actual}"),
            );
        }
        if let Some(expected) = &then.upstream_client_cert {
            client_certificate(seen, expected.as_ref(), reasons);
        }
        self.seen_headers(seen, then, reasons)
    }

    fn seen_headers(
        &self,
        seen: &Received,
        then: &Then,
        reasons: &mut Vec<String>,
    ) -> Result<(), String> {
        let header = |name: &str| self.header(seen, name);
        for (name, expected) in &then.upstream_headers {
            compare(
                "upstream header",
                name,
                expected,
                header(name).as_deref(),
                reasons,
            );
        }
        for name in then
            .upstream_headers_absent
            .iter()
            .filter(|name| header(name).is_some())
        {
            let actual = shown(header(name).as_deref());
            push_once(
                reasons,
                format!("upstream_headers_absent: {name} is {actual}"),
            );
        }
        for (name, unwanted) in &then.upstream_header_not {
            if header(name) == Some(plain(unwanted)) {
                push_once(
                    reasons,
                    format!("upstream_header_not: {name} is {unwanted}"),
                );
            }
        }
        let shown_header = |name: &str| shown(header(name).as_deref());
        for (name, prefix) in &then.upstream_header_prefix {
            if !header(name).is_some_and(|value| value.starts_with(prefix)) {
                let actual = shown_header(name);
                push_once(
                    reasons,
                    format!("upstream_header_prefix {name}: expected {prefix:?}, got {actual}"),
                );
            }
        }
        for (name, pattern) in &then.upstream_header_regex {
            let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
            if !header(name).is_some_and(|value| regex.is_match(&value)) {
                let actual = shown_header(name);
                push_once(
                    reasons,
                    format!("upstream_header_regex {name}: expected {pattern:?}, got {actual}"),
                );
            }
        }
        Ok(())
    }

    fn header(&self, seen: &Received, name: &str) -> Option<String> {
        let name = name.to_ascii_lowercase();
        let value = seen.header(&name).or_else(|| {
            if name == "host" {
                seen.host.clone()
            } else {
                None
            }
        });
        value.map(|value| self.ports.publish(&value))
    }

    fn auth_request(
        &self,
        seen: &Received,
        expected: &BTreeMap<String, Value>,
        reasons: &mut Vec<String>,
    ) -> Result<(), String> {
        for (word, expected) in expected {
            let mut same = |actual: &str| {
                if plain(expected) != actual {
                    push_once(
                        reasons,
                        format!("auth_request.{word}: expected {expected}, got {actual:?}"),
                    );
                }
            };
            match (word.as_str(), expected) {
                ("method", _) => same(&seen.method),
                ("path", _) => same(&seen.path),
                ("query", _) => same(seen.query.as_deref().unwrap_or_default()),
                ("host", _) => same(&self.header(seen, "host").unwrap_or_default()),
                ("body_bytes", _) => same(&seen.body_bytes.to_string()),
                ("headers", Value::Object(headers)) => {
                    headers.iter().for_each(|(name, expected)| {
                        compare(
                            "auth_request header",
                            name,
                            expected,
                            self.header(seen, name).as_deref(),
                            reasons,
                        );
                    });
                }
                ("headers_absent", Value::Array(names)) => {
                    for name in names
                        .iter()
                        .map(plain)
                        .filter(|name| self.header(seen, name).is_some())
                    {
                        push_once(
                            reasons,
                            format!("auth_request.headers_absent: {name} is there"),
                        );
                    }
                }
                (_, Value::Object(_) | Value::Array(_)) => {
                    return Err(format!("auth_request.{word} is not understood"));
                }
                (name, expected) => {
                    compare(
                        "auth_request header",
                        name,
                        expected,
                        self.header(seen, name).as_deref(),
                        reasons,
                    );
                }
            }
        }
        Ok(())
    }
}

fn expects_something_of_a_request(then: &Then) -> bool {
    then.upstream_path.is_some()
        || then.upstream_query.is_some()
        || then.upstream_method.is_some()
        || then.upstream_proto.is_some()
        || then.upstream_sni.is_some()
        || then.upstream_client_cert.is_some()
        || !then.upstream_headers.is_empty()
        || !then.upstream_headers_absent.is_empty()
        || !then.upstream_header_not.is_empty()
        || !then.upstream_header_prefix.is_empty()
        || !then.upstream_header_regex.is_empty()
}

/// `true`, `false`, `null`, or a name as `CN=x`.
fn client_certificate(seen: &Received, expected: Option<&Value>, reasons: &mut Vec<String>) {
    let owner = seen.connection.client_certificate.as_deref().map(Owner::of);
    let name =
        owner.map(|owner| owner.map_or_else(|error| error.to_string(), |owner| owner.common_name));
    let holds = match expected {
        Some(Value::Bool(expected)) => *expected == name.is_some(),
        None => name.is_none(),
        Some(expected) => {
            let expected = plain(expected);
            name.as_deref() == Some(expected.strip_prefix("CN=").unwrap_or(&expected))
        }
    };
    if !holds {
        let actual = shown(name.as_deref());
        push_once(
            reasons,
            format!("upstream_client_cert: expected {expected:?}, got {actual}"),
        );
    }
}
