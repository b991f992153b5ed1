//! Cookies that were set.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Observed, plain, push_once, shown};
use crate::cases::ingress::then::Then;
use crate::http::Response;

/// The value of a cookie that an answer sets.
pub fn find(answer: &Response, name: &str) -> Option<String> {
    let cookie = cookies(answer).find(|cookie| cookie.name == name)?;
    Some(cookie.value.to_owned())
}

/// A Set-Cookie header.
struct Cookie<'a> {
    name: &'a str,
    value: &'a str,
    /// By name in lower case.
    attributes: BTreeMap<String, &'a str>,
}

impl<'a> Cookie<'a> {
    fn parse(header: &'a str) -> Option<Cookie<'a>> {
        let mut parts = header.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let attribute = |part: &'a str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (name.trim().to_ascii_lowercase(), value.trim())
        };
        Some(Cookie {
            name: name.trim(),
            value: value.trim(),
            attributes: parts.map(attribute).collect(),
        })
    }

    /// Why it is not the expected one.
    fn against(&self, word: &str, expected: &Value) -> Option<String> {
        let (word, actual) = match word {
            "name" => ("name".to_owned(), Some(self.name)),
            "value" => ("value".to_owned(), Some(self.value)),
            other => {
                let attribute = other.to_ascii_lowercase().replace('_', "-");
                let actual = self.attributes.get(&attribute).copied();
                (attribute, actual)
            }
        };
        let holds = match expected {
            Value::Null => actual.is_none(),
            Value::Bool(set) => actual.is_some() == *set,
            expected => {
                let expected = plain(expected);
                let same = |actual: &str| match word.as_str() {
                    "samesite" => actual.eq_ignore_ascii_case(&expected),
                    _ => actual == expected,
                };
                actual.is_some_and(same)
            }
        };
        (!holds).then(|| {
            format!(
                "set_cookie.{word}: expected {expected}, got {}",
                shown(actual)
            )
        })
    }
}

fn cookies(answer: &Response) -> impl Iterator<Item = Cookie<'_>> {
    answer.headers("set-cookie").filter_map(Cookie::parse)
}

impl Observed<'_> {
    pub(super) fn cookies(&self, then: &Then, reasons: &mut Vec<String>) {
        for answer in self
            .exchanges
            .iter()
            .filter_map(|exchange| exchange.answer.as_ref().ok())
        {
            match &then.set_cookie {
                Some(Some(Value::Array(all))) => {
                    all.iter()
                        .for_each(|expected| set_cookie(answer, expected, reasons));
                }
                Some(None | Some(Value::Bool(false))) => not_set(answer, None, reasons),
                Some(Some(expected)) => set_cookie(answer, expected, reasons),
                None => {}
            }
            match &then.no_set_cookie {
                Some(Value::Bool(false)) | None => {}
                Some(Value::Bool(true)) => not_set(answer, None, reasons),
                Some(name) => not_set(answer, Some(&plain(name)), reasons),
            }
            if let Some(text) = &then.set_cookie_raw
                && !answer
                    .headers("set-cookie")
                    .any(|header| header.contains(text.as_str()))
            {
                let all: Vec<&str> = answer.headers("set-cookie").collect();
                push_once(
                    reasons,
                    format!("set_cookie_raw: expected {text:?} in {all:?}"),
                );
            }
        }
    }
}

/// `true`, a name, or attributes.
fn set_cookie(answer: &Response, expected: &Value, reasons: &mut Vec<String>) {
    let attributes = expected.as_object();
    let name = match attributes {
        Some(attributes) => attributes.get("name").map(plain),
        None => expected.as_str().map(str::to_owned),
    };
    let mut all = cookies(answer);
    let Some(cookie) = all.find(|cookie| name.as_deref().is_none_or(|name| name == cookie.name))
    else {
        let set: Vec<&str> = answer.headers("set-cookie").collect();
        let name = name.map_or_else(
            || "a cookie".to_owned(),
            |name| format!("the cookie {name}"),
        );
        return push_once(reasons, format!("set_cookie: expected {name}, got {set:?}"));
    };
    for reason in attributes
        .into_iter()
        .flatten()
        .filter_map(|(word, expected)| cookie.against(word, expected))
    {
        push_once(reasons, reason);
    }
}

fn not_set(answer: &Response, name: Option<&str>, reasons: &mut Vec<String>) {
    for cookie in cookies(answer).filter(|cookie| name.is_none_or(|name| name == cookie.name)) {
        push_once(
            reasons,
            format!("no cookie expected, got {}={}", cookie.name, cookie.value),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reasons(header: &str, expected: Value) -> Vec<String> {
        let headers = vec![("set-cookie".to_owned(), header.to_owned())];
        let answer = Response {
            status: 200,
            headers,
            body: Vec::new(),
        };
        let mut reasons = Vec::new();
        set_cookie(&answer, &expected, &mut reasons);
        reasons
    }

    #[test]
    fn attributes_are_compared_one_by_one() {
        let header = "route=1|2; Path=/a; Secure; HttpOnly; SameSite=None; Max-Age=5";
        for right in [
            json!({ "name": "route", "value": "1|2", "path": "/a", "secure": true, "httponly": true }),
            json!("route"),
            json!(true),
            json!({ "domain": null, "samesite": "none", "max_age": 5, "max-age": "5" }),
        ] {
            assert_eq!(reasons(header, right), [""; 0]);
        }
        for wrong in [
            json!("other"),
            json!({ "name": "other" }),
            json!({ "path": "/" }),
            json!({ "secure": false }),
            json!({ "samesite": null }),
            json!({ "domain": "a.example" }),
            json!({ "max-age": 6 }),
        ] {
            assert_eq!(reasons(header, wrong.clone()).len(), 1, "{wrong}");
        }
    }
}
