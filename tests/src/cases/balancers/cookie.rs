//! Session cookies: what a response sets, and what is expected of it.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_filter_core::affinity::cookie_time;

use super::case::Cannot;

/// A `Set-Cookie`.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    name: String,
    value: String,
    /// By name in lower case; those without a value have an empty one.
    attributes: BTreeMap<String, String>,
}

impl Parsed {
    /// The only cookie of a response.
    pub(super) fn of(cookies: &[String]) -> Option<Parsed> {
        let [cookie] = cookies else { return None };
        let mut parts = cookie.split("; ");
        let (name, value) = parts.next()?.split_once('=')?;
        let attributes = parts.map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (name.to_ascii_lowercase(), value.to_owned())
        });
        let attributes = attributes.collect();
        Some(Parsed {
            name: name.to_owned(),
            value: value.to_owned(),
            attributes,
        })
    }

    /// The `name=value` that a client sends back.
    pub(super) fn pair(&self) -> String {
        format!("{}={}", self.name, self.value)
    }

    /// The two keys in the value.
    pub(super) fn keys(&self) -> (&str, &str) {
        self.value.split_once('|').unwrap_or((&self.value, ""))
    }

    /// The value of an attribute, in the words of a case.
    fn word(&self, word: &str) -> Option<Value> {
        let text = |name: &str| {
            self.attributes
                .get(name)
                .cloned()
                .map_or(Value::Null, Value::String)
        };
        let flag = |name: &str| Value::Bool(self.attributes.contains_key(name));
        Some(match word {
            "key" | "name" => Value::String(self.name.clone()),
            "path" | "domain" | "samesite" | "expires" => text(word),
            "httponly" | "secure" => flag(word),
            "max_age" => match self
                .attributes
                .get("max-age")
                .map(|seconds| seconds.parse::<i64>())
            {
                Some(Ok(seconds)) => seconds.into(),
                _ => text("max-age"),
            },
            _ => return None,
        })
    }
}

/// Compares a `Set-Cookie` with what is expected of it: `null` for none, or some of its attributes. `now` in seconds.
pub(super) fn compare(
    expected: &Value,
    cookies: &[String],
    now: u64,
) -> Result<Vec<String>, Cannot> {
    let words = match expected {
        Value::Null if cookies.is_empty() => return Ok(Vec::new()),
        Value::Null => return Ok(vec![format!("set_cookie: expected none, got {cookies:?}")]),
        Value::Object(words) => words,
        other => {
            return Err(Cannot(format!(
                "then.set_cookie: expected null or attributes, got {other}"
            )));
        }
    };
    let Some(cookie) = Parsed::of(cookies) else {
        return Ok(vec![format!("set_cookie: expected one, got {cookies:?}")]);
    };
    let mut findings = Vec::new();
    for (word, expected) in words {
        let got = cookie
            .word(word)
            .ok_or_else(|| Cannot(format!("then.set_cookie: unknown attribute `{word}`")))?;
        let expected = date(expected, now)?;
        if got != expected {
            findings.push(format!("set_cookie.{word}: expected {expected}, got {got}"));
        }
    }
    Ok(findings)
}

/// `HTTP date of T+172800 s`, with the T of the host; anything else is as it is.
fn date(expected: &Value, now: u64) -> Result<Value, Cannot> {
    let Some(plus) = expected
        .as_str()
        .and_then(|text| text.strip_prefix("HTTP date of T"))
    else {
        return Ok(expected.clone());
    };
    let seconds = plus
        .trim_start_matches('+')
        .trim_end_matches('s')
        .trim()
        .parse()
        .ok();
    let seconds = seconds.ok_or_else(|| {
        Cannot(format!(
            "expected \"HTTP date of T+<seconds> s\", got {expected}"
        ))
    })?;
    Ok(Value::String(cookie_time(now, seconds)))
}
