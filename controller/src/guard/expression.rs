//! What an expression says of a request.

use sluice_ir::{Expression, Part, Variable};
use sluice_xds::Check;

/// As nginx would have it; a part that the request does not have is empty.
pub(super) fn text(expression: &Expression, check: &Check) -> String {
    let parts = expression.0.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Variable(variable) => value(variable, check),
    });
    parts.collect()
}

fn value(variable: &Variable, check: &Check) -> String {
    let header = |name: &str| check.header(name).map(lossless).unwrap_or_default();
    match variable {
        Variable::RemoteAddress => check.client.map(|client| client.to_string()).unwrap_or_default(),
        Variable::Host => check.host.clone(),
        Variable::Hostname => hostname(&check.host),
        Variable::Scheme => Some(header("x-forwarded-proto"))
            .filter(|scheme| matches!(scheme.as_str(), "http" | "https"))
            .unwrap_or_else(|| check.scheme.clone()),
        Variable::Method => check.method.clone(),
        Variable::RequestUri => check.path.clone(),
        Variable::EscapedRequestUri => escaped(&check.path),
        Variable::Path => check.path.split('?').next().unwrap_or_default().to_owned(),
        Variable::RequestId => header("x-request-id"),
        Variable::ServerPort => header("x-forwarded-port"),
        Variable::Header(name) => header(name),
        Variable::Cookie(name) => cookie(check, name).unwrap_or_default(),
        Variable::Argument(name) => argument(&check.path, name).unwrap_or_default().to_owned(),
    }
}

fn lossless(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).unwrap_or_default().to_owned()
}

/// In lower case, without a port; an IPv6 address keeps its brackets.
fn hostname(host: &str) -> String {
    let end = match host.rfind(']') {
        Some(bracket) => bracket + 1,
        None => host.find(':').unwrap_or(host.len()),
    };
    host.get(..end).unwrap_or(host).to_ascii_lowercase()
}

/// For a parameter of a URL.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().fold(String::new(), |text, byte| {
        if plain(byte) { text + &char::from(byte).to_string() } else { text + &format!("%{byte:02X}") }
    })
}

fn cookie(check: &Check, name: &str) -> Option<String> {
    let headers = check.headers.iter().filter(|(header, _)| header == "cookie");
    let texts = headers.filter_map(|(_, value)| std::str::from_utf8(value).ok());
    let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

fn argument<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_what_the_request_says() {
        let check = Check {
            host: "Shop.example:8443".to_owned(),
            scheme: "http".to_owned(),
            path: "/a b?x=1&Y=2".to_owned(),
            headers: vec![
                ("x-forwarded-proto".to_owned(), b"https".to_vec()),
                ("cookie".to_owned(), b"a=1; b=2".to_vec()),
            ],
            ..Check::default()
        };
        let says = |variable| value(&variable, &check);
        assert_eq!(says(Variable::Host), "Shop.example:8443");
        assert_eq!(says(Variable::Hostname), "shop.example");
        assert_eq!(says(Variable::Scheme), "https");
        assert_eq!(says(Variable::Path), "/a b");
        assert_eq!(says(Variable::EscapedRequestUri), "%2Fa%20b%3Fx%3D1%26Y%3D2");
        assert_eq!(says(Variable::Cookie("b".to_owned())), "2");
        assert_eq!(says(Variable::Argument("y".to_owned())), "2");
        assert_eq!(says(Variable::RemoteAddress), "");
        assert_eq!(hostname("[::1]:80"), "[::1]");
    }
}
