//! Checks of the response to the client.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Observed, plain, push_once, shown, texts};
use crate::cases::ingress::certificates::Owner;
use crate::cases::ingress::expect;
use crate::cases::ingress::then::{Certificate, Then};
use crate::cases::ingress::traffic::Exchange;
use crate::http::Response;

/// Enough of a body to see what it is.
const BODY_SHOWN: usize = 60;

impl Observed<'_> {
    pub(super) fn answers(&self, then: &Then, reasons: &mut Vec<String>) -> Result<(), String> {
        for exchange in self.exchanges {
            match &exchange.answer {
                Ok(answer) => self.answer(answer, then, reasons)?,
                Err(error) => push_once(reasons, format!("no answer: {error:#}")),
            }
            if let Some(expected) = &then.tls {
                self.certificate(exchange, expected, reasons);
            }
        }
        self.status_counts(then, reasons)
    }

    fn answer(
        &self,
        answer: &Response,
        then: &Then,
        reasons: &mut Vec<String>,
    ) -> Result<(), String> {
        for (word, expected) in [("status", &then.status), ("http_status", &then.http_status)] {
            let Some(expected) = expected else { continue };
            if then.status_counts.is_empty() && !expect::status(expected, answer.status)? {
                let who = from(answer);
                push_once(
                    reasons,
                    format!(
                        "{word}: expected {expected}, got {} from {who}",
                        answer.status
                    ),
                );
            }
        }
        self.headers(answer, then, reasons)?;
        let body = answer.text();
        for expected in then
            .body_contains
            .iter()
            .flat_map(texts)
            .filter(|text| !body.contains(text))
        {
            push_once(
                reasons,
                format!("body_contains: expected {expected:?} in {body:?}"),
            );
        }
        for unwanted in then
            .body_not_contains
            .iter()
            .flat_map(texts)
            .filter(|text| body.contains(text))
        {
            push_once(
                reasons,
                format!("body_not_contains: {unwanted:?} is in {body:?}"),
            );
        }
        if let Some(expected) = &then.grpc_status {
            let actual = answer.header("grpc-status");
            let holds = match actual.and_then(|status| status.parse().ok()) {
                Some(status) => expect::number(expected, status, status)?,
                None => false,
            };
            if !holds {
                push_once(
                    reasons,
                    format!("grpc_status: expected {expected}, got {}", shown(actual)),
                );
            }
        }
        Ok(())
    }

    fn headers(
        &self,
        answer: &Response,
        then: &Then,
        reasons: &mut Vec<String>,
    ) -> Result<(), String> {
        let header = |name: &str| {
            let name = name.to_ascii_lowercase();
            let values: Vec<&str> = answer.headers(&name).collect();
            (!values.is_empty()).then(|| self.ports.publish(&values.join(", ")))
        };
        let location = header("location");
        if let Some(expected) = &then.location
            && *expected != location
        {
            let (expected, actual) = (shown(expected.as_deref()), shown(location.as_deref()));
            push_once(
                reasons,
                format!("location: expected {expected}, got {actual}"),
            );
        }
        if let Some(suffix) = &then.location_suffix
            && !location
                .as_deref()
                .is_some_and(|location| location.ends_with(suffix))
        {
            let actual = shown(location.as_deref());
            push_once(
                reasons,
                format!("location_suffix: expected {suffix:?}, got {actual}"),
            );
        }
        for (name, expected) in &then.headers {
            compare("header", name, expected, header(name).as_deref(), reasons);
        }
        let present = |name: &&String| header(name).is_some();
        for name in then.headers_absent.iter().filter(present) {
            let actual = shown(header(name).as_deref());
            push_once(reasons, format!("headers_absent: {name} is {actual}"));
        }
        let absent = |name: &&String| !present(name);
        for name in then.headers_present.iter().filter(absent) {
            push_once(reasons, format!("headers_present: there is no {name}"));
        }
        for (name, expected) in &then.header_count {
            let lower = name.to_ascii_lowercase();
            let count = answer.headers(&lower).count();
            if !expect::number(expected, count as f64, count as f64)? {
                let reason = format!("header_count: expected {expected} of {name}, got {count}");
                push_once(reasons, reason);
            }
        }
        Ok(())
    }

    fn status_counts(&self, then: &Then, reasons: &mut Vec<String>) -> Result<(), String> {
        if then.status_counts.is_empty() {
            return Ok(());
        }
        let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
        for answer in self
            .exchanges
            .iter()
            .filter_map(|exchange| exchange.answer.as_ref().ok())
        {
            *counts.entry(answer.status).or_default() += 1;
        }
        for (class, expected) in &then.status_counts {
            let mut count = 0;
            for (status, times) in &counts {
                count += if expect::status(&Value::from(class.as_str()), *status)? {
                    *times
                } else {
                    0
                };
            }
            if !expect::number(expected, count as f64, self.exchanges.len() as f64)? {
                reasons.push(format!(
                    "status_counts: expected {expected} of {class}, got {counts:?}"
                ));
            }
        }
        // Beside counts, the status is that of some answers.
        if let Some(expected) = &then.status {
            let mut found = false;
            for status in counts.keys() {
                found |= expect::status(expected, *status)?;
            }
            if !found {
                reasons.push(format!("status: expected some {expected}, got {counts:?}"));
            }
        }
        Ok(())
    }

    fn certificate(&self, exchange: &Exchange, expected: &Certificate, reasons: &mut Vec<String>) {
        let Some(certificate) = &exchange.certificate else {
            return push_once(reasons, "tls: no certificate was shown".to_owned());
        };
        let owner = match Owner::of(certificate) {
            Ok(owner) => owner,
            Err(error) => return push_once(reasons, format!("tls: {error:#}")),
        };
        if expected
            .cn
            .as_ref()
            .is_some_and(|name| *name != owner.common_name)
        {
            let expected = shown(expected.cn.as_deref());
            push_once(
                reasons,
                format!("tls.cn: expected {expected}, got {:?}", owner.common_name),
            );
        }
        if let Some(names) = &expected.dns {
            let sorted = |names: &[String]| {
                let mut names = names.to_vec();
                names.sort();
                names
            };
            if sorted(names) != sorted(&owner.dns) {
                push_once(
                    reasons,
                    format!("tls.dns: expected {names:?}, got {:?}", owner.dns),
                );
            }
        }
        if let Some(expected) = &expected.terminated_by {
            let service = self.pods.owner_of(certificate);
            let holds = match expected.as_str() {
                "backend" | "pod" | "service" | "upstream" => service.is_some(),
                "controller" | "ingress" | "proxy" | "nginx" | "envoy" | "gateway" => {
                    service.is_none()
                }
                name => service == Some(name),
            };
            if !holds {
                let actual = service.unwrap_or("the data plane");
                push_once(
                    reasons,
                    format!("tls.terminated_by: expected {expected}, got {actual}"),
                );
            }
        }
    }
}

/// The origin of a response: a pod, or else the data plane, by the beginning of the body.
fn from(answer: &Response) -> String {
    match (
        answer.pod(),
        answer.text().chars().take(BODY_SHOWN).collect::<String>(),
    ) {
        (Some(pod), _) => pod.to_owned(),
        (None, body) if body.is_empty() => "the data plane".to_owned(),
        (None, body) => format!("the data plane ({:?})", body.trim()),
    }
}

/// A header by its value; `null` is absent, a list is all values.
pub(super) fn compare(
    word: &str,
    name: &str,
    expected: &Value,
    actual: Option<&str>,
    reasons: &mut Vec<String>,
) {
    let wanted = match expected {
        Value::Null => None,
        expected => Some(texts(expected).join(", ")),
    };
    if wanted.as_deref() != actual {
        let expected = if expected.is_null() {
            "none".to_owned()
        } else {
            plain(expected)
        };
        push_once(
            reasons,
            format!(
                "{word} {name}: expected {expected:?}, got {}",
                shown(actual)
            ),
        );
    }
}
