//! Pages of other origins.

use sluice_ir::{Cors, Hostname, Origin, Origins};

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value::{self, Parsed};
use super::view::View;

const HEADERS: &str = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,\
                       Authorization";
const METHODS: &str = "GET, PUT, POST, DELETE, PATCH, OPTIONS";
const MAX_AGE: i64 = 1_728_000;

pub(super) const GROUP: Group = Group {
    title: "CORS",
    annotations: &[
        annotation("enable-cors", Value::Bool, Risk::Low, Scope::Ingress).full(),
        annotation("cors-allow-origin", Value::List, Risk::Medium, Scope::Ingress)
            .partly("a list that cannot be read allows nobody, and not everybody"),
        annotation("cors-allow-methods", Value::List, Risk::Medium, Scope::Ingress).full(),
        annotation("cors-allow-headers", Value::List, Risk::Medium, Scope::Ingress).full(),
        annotation("cors-allow-credentials", Value::Bool, Risk::Low, Scope::Ingress).full(),
        annotation("cors-expose-headers", Value::List, Risk::Medium, Scope::Ingress).full(),
        annotation("cors-max-age", Value::Int, Risk::Low, Scope::Ingress).full(),
    ],
};

pub(super) fn cors(view: &mut View<'_, '_>) -> Option<Cors> {
    let enabled = view.flag("enable-cors");
    let origins = origins(view);
    let cors = Cors {
        origins,
        methods: view.read("cors-allow-methods", methods).unwrap_or_else(|| METHODS.to_owned()),
        headers: view
            .read("cors-allow-headers", |text| names(text, "-_, "))
            .unwrap_or_else(|| HEADERS.to_owned()),
        credentials: view.read("cors-allow-credentials", value::bool).unwrap_or(true),
        exposed: view.read("cors-expose-headers", |text| names(text, "-_, *")),
        max_age: view.read("cors-max-age", value::int).unwrap_or(MAX_AGE),
    };
    enabled.then_some(cors)
}

/// Entries that are no origins are reported, and the others hold.
fn origins(view: &mut View<'_, '_>) -> Origins {
    let Some(text) = view.text("cors-allow-origin") else { return Origins::Any };
    let list = value::list(text);
    if list.contains(&"*") {
        return Origins::Any;
    }
    let mut origins = Vec::new();
    for entry in list {
        match origin(entry) {
            Some(origin) => origins.push(origin),
            None => view.refuse_part("cors-allow-origin", "origins such as https://shop.example:8443", entry),
        }
    }
    origins.sort();
    origins.dedup();
    Origins::Only(origins)
}

fn origin(text: &str) -> Option<Origin> {
    if text == "null" {
        return Some(Origin::Exact("null".to_owned()));
    }
    let (scheme, authority) = text.split_once("://")?;
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(letter);
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, format!(":{}", port.parse::<u16>().ok()?)),
        None => (authority, String::new()),
    };
    let (host, is_wildcard) = host.strip_prefix("*.").map_or((host, false), |host| (host, true));
    let host = Hostname::parse(host).ok().filter(|_| is_scheme)?;
    let host = host.as_str();
    Some(match is_wildcard {
        true => Origin::Wildcard { scheme: format!("{scheme}://"), suffix: format!(".{host}{port}") },
        false => Origin::Exact(format!("{scheme}://{host}{port}")),
    })
}

fn methods(text: &str) -> Parsed<String> {
    let valid = text.bytes().all(|b| b.is_ascii_alphabetic() || b == b',' || b == b' ');
    if valid { Ok(text.to_owned()) } else { Err("names of methods, separated by commas".into()) }
}

fn names(text: &str, others: &str) -> Parsed<String> {
    let valid = text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c));
    if valid { Ok(text.to_owned()) } else { Err("names of headers, separated by commas".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_a_scheme_and_a_host() {
        assert_eq!(origin("https://A.example:8443"), Some(Origin::Exact("https://a.example:8443".into())));
        assert_eq!(origin("tauri://localhost"), Some(Origin::Exact("tauri://localhost".into())));
        let wildcard = Origin::Wildcard { scheme: "http://".into(), suffix: ".a.example:80".into() };
        assert_eq!(origin("http://*.a.example:80"), Some(wildcard));
        for bad in
            ["a.example", "https://", "https://a.*.example", "https://a/b", "://a", "https://a:x", "h t://a"]
        {
            assert_eq!(origin(bad), None, "{bad}");
        }
    }
}
