//! Pages of other origins.

use sluice_ir::{AllowedOrigin, AllowedOrigins, Cors, Hostname, ReasonCode};
use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::Cause;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;

const HEADERS: &str = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,\
                       Authorization";
const METHODS: &str = "GET, PUT, POST, DELETE, PATCH, OPTIONS";
const MAX_AGE: i64 = 1_728_000;
/// Allowed origins of one Ingress. They are compared one by one.
pub(crate) const MAX_ORIGINS: usize = 200;
/// Bytes of a list that is sent with answers.
const LONGEST: usize = 2000;
/// Bytes of a scheme; `chrome-extension` has 16.
const LONGEST_SCHEME: usize = 32;
const NOBODY: &str = "no origin is allowed";

pub(super) const GROUP: Group = Group {
    title: "CORS",
    annotations: &[
        annotation("enable-cors", Value::Bool, Risk::Low, Scope::Ingress)
            .narrows("no CORS headers")
            .full(),
        annotation(
            "cors-allow-origin",
            Value::List,
            Risk::Medium,
            Scope::Ingress,
        )
        .narrows(NOBODY)
        // As if it were not there, as in ingress-nginx: everybody.
        .may_be_blank()
        .partly("an invalid list allows no origin, not every origin"),
        annotation(
            "cors-allow-methods",
            Value::List,
            Risk::Medium,
            Scope::Ingress,
        )
        .narrows(NOBODY)
        .full(),
        annotation(
            "cors-allow-headers",
            Value::List,
            Risk::Medium,
            Scope::Ingress,
        )
        .narrows(NOBODY)
        .full(),
        annotation(
            "cors-allow-credentials",
            Value::Bool,
            Risk::Low,
            Scope::Ingress,
        )
        .narrows("no credentials are allowed")
        .full(),
        annotation(
            "cors-expose-headers",
            Value::List,
            Risk::Medium,
            Scope::Ingress,
        )
        .narrows("no headers are exposed")
        .full(),
        annotation("cors-max-age", Value::Int, Risk::Low, Scope::Ingress)
            .narrows("preflight responses are not cached")
            .full(),
    ],
};

pub(super) fn cors(view: &mut View<'_, '_>) -> Option<Cors> {
    let enabled = view.strict("enable-cors", value::bool, false, false);
    let all = |usual: &str| Some(usual.to_owned());
    let methods = view.strict(
        "cors-allow-methods",
        |text| methods(text).map(Some),
        all(METHODS),
        None,
    );
    let headers = view.strict(
        "cors-allow-headers",
        |text| names(text, "-_, ").map(Some),
        all(HEADERS),
        None,
    );
    let origins = origins(view);
    let (origins, methods, headers) = match (methods, headers) {
        (Some(methods), Some(headers)) => (origins, methods, headers),
        _ => (nobody(), String::new(), String::new()),
    };
    let cors = Cors {
        origins,
        allow_methods: methods,
        allow_headers: headers,
        allow_credentials: view.strict("cors-allow-credentials", value::bool, true, false),
        expose_headers: view.strict(
            "cors-expose-headers",
            |text| names(text, "-_, *").map(Some),
            None,
            None,
        ),
        max_age: view.strict("cors-max-age", value::int, MAX_AGE, 0),
    };
    enabled.then_some(cors)
}

fn nobody() -> AllowedOrigins {
    AllowedOrigins::Only(Vec::new())
}

/// Entries that are no origins are reported, and the others hold.
fn origins(view: &mut View<'_, '_>) -> AllowedOrigins {
    const NAME: &str = "cors-allow-origin";
    if view.is_rejected(NAME) {
        return nobody();
    }
    let Some(text) = view.text(NAME) else {
        return AllowedOrigins::Any;
    };
    let list = value::list(text);
    if list.contains(&"*") {
        return AllowedOrigins::Any;
    }
    if list.len() > MAX_ORIGINS {
        let reason = format!("expected at most {MAX_ORIGINS} origins, got {}", list.len());
        let cause = Cause::new(ReasonCode::LimitExceeded, reason);
        view.not_honoured("cors-allow-origin", cause, "no origin allowed");
        return AllowedOrigins::Only(Vec::new());
    }
    let mut origins = Vec::new();
    for entry in list {
        match origin(entry) {
            Some(origin) => origins.push(origin),
            None => view.reject_part(NAME, "origins such as https://shop.example:8443", entry),
        }
    }
    origins.sort();
    origins.dedup();
    AllowedOrigins::Only(origins)
}

fn origin(text: &str) -> Option<AllowedOrigin> {
    if text == "null" {
        return Some(AllowedOrigin::Exact("null".to_owned()));
    }
    let (scheme, authority) = text.split_once("://")?;
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    let is_scheme = scheme.len() <= LONGEST_SCHEME
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(letter);
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, format!(":{}", port.parse::<u16>().ok()?)),
        None => (authority, String::new()),
    };
    let (host, is_wildcard) = host
        .strip_prefix("*.")
        .map_or((host, false), |host| (host, true));
    let host = Hostname::parse(host).ok().filter(|_| is_scheme)?;
    let host = host.as_str();
    Some(match is_wildcard {
        true => AllowedOrigin::Wildcard {
            scheme: format!("{scheme}://"),
            suffix: format!(".{host}{port}"),
        },
        false => AllowedOrigin::Exact(format!("{scheme}://{host}{port}")),
    })
}

fn methods(text: &str) -> Parsed<String> {
    let valid = text
        .bytes()
        .all(|b| b.is_ascii_alphabetic() || b == b',' || b == b' ');
    short(text, valid, "names of methods, separated by commas")
}

fn names(text: &str, others: &str) -> Parsed<String> {
    let valid = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || others.contains(c));
    short(text, valid, "names of headers, separated by commas")
}

fn short(text: &str, valid: bool, expected: &'static str) -> Parsed<String> {
    match text.len() {
        _ if !valid => Err(expected.into()),
        length if length > LONGEST => Err(format!("at most {LONGEST} bytes of {expected}").into()),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_a_scheme_and_a_host() {
        assert_eq!(
            origin("https://A.example:8443"),
            Some(AllowedOrigin::Exact("https://a.example:8443".into()))
        );
        assert_eq!(
            origin("tauri://localhost"),
            Some(AllowedOrigin::Exact("tauri://localhost".into()))
        );
        let wildcard = AllowedOrigin::Wildcard {
            scheme: "http://".into(),
            suffix: ".a.example:80".into(),
        };
        assert_eq!(origin("http://*.a.example:80"), Some(wildcard));
        for bad in [
            "a.example",
            "https://",
            "https://a.*.example",
            "https://a/b",
            "://a",
            "https://a:x",
            "h t://a",
        ] {
            assert_eq!(origin(bad), None, "{bad}");
        }
    }
}
