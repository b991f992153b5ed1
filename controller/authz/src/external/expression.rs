//! Expressions evaluated for a request, as the filter evaluates them.

use std::borrow::Cow;
use std::net::SocketAddr;

use sluice_filter_config::{Plain, Variable as Read};
use sluice_filter_core::{Fact, Request, variables};
use sluice_ir::{Expression, ExpressionPart, Variable};
use sluice_xds_server::AuthzRequest;

/// As nginx would have it; a part that the request does not have, or that is no text, is empty.
pub(super) fn text(expression: &Expression, check: &AuthzRequest) -> String {
    let parts = expression
        .0
        .iter()
        .map(|part| String::from_utf8(bytes(part, check)).unwrap_or_default());
    parts.collect()
}

/// The same of one part, whatever it is.
pub(super) fn bytes(part: &ExpressionPart, check: &AuthzRequest) -> Vec<u8> {
    match part {
        ExpressionPart::Text(text) => text.clone().into_bytes(),
        ExpressionPart::Variable(variable) => value(variable, check),
    }
}

fn value(variable: &Variable, check: &AuthzRequest) -> Vec<u8> {
    let header = |name: &str| check.header(name).unwrap_or_default();
    let read = match variable {
        // What is believed of it is in headers that a client cannot say.
        Variable::Scheme => {
            let told = header("x-forwarded-proto");
            let is_scheme = [&b"http"[..], b"https"].contains(&told);
            return if is_scheme {
                told
            } else {
                check.scheme.as_bytes()
            }
            .to_vec();
        }
        Variable::ServerPort => return header("x-forwarded-port").to_vec(),
        // Translation lets them through to pods' requests and to responses only.
        Variable::Time
        | Variable::IsoTime
        | Variable::Status
        | Variable::UpstreamAddress
        | Variable::UpstreamStatus => return Vec::new(),
        Variable::EscapedRequestUri => return escaped(&check.path).into_bytes(),
        Variable::RemoteAddress => Read::Plain(Plain::RemoteAddr),
        Variable::Host => Read::Header("host".to_owned()),
        Variable::Hostname => Read::Plain(Plain::Host),
        Variable::Method => Read::Plain(Plain::RequestMethod),
        Variable::RequestUri => Read::Plain(Plain::RequestUri),
        Variable::Query => Read::Plain(Plain::Args),
        Variable::QuestionMark => Read::Plain(Plain::IsArgs),
        Variable::Path | Variable::ScriptName => Read::Plain(Plain::Uri),
        Variable::RequestId => Read::Header("x_request_id".to_owned()),
        Variable::Header(name) => Read::Header(name.replace('-', "_")),
        Variable::Cookie(name) => Read::Cookie(name.clone()),
        Variable::Argument(name) => Read::Arg(name.clone()),
    };
    let mut value = Vec::new();
    variables::append(&Asked(check), &read, &mut value);
    value
}

/// The request that is asked about.
struct Asked<'a>(&'a AuthzRequest);

impl Request for Asked<'_> {
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let AuthzRequest {
            path,
            method,
            host,
            headers,
            ..
        } = self.0;
        match name {
            ":path" => return Some(Cow::Borrowed(path.as_bytes())),
            ":method" => return Some(Cow::Borrowed(method.as_bytes())),
            ":authority" => return Some(Cow::Borrowed(host.as_bytes())),
            _ => {}
        }
        let mut values = headers
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value);
        let first = Cow::Borrowed(values.next()?.as_slice());
        let separator: &[u8] = if name == "cookie" { b"; " } else { b", " };
        Some(values.fold(first, |joined, value| {
            Cow::Owned([&joined, separator, value].concat())
        }))
    }

    fn fact(&self, fact: Fact) -> Option<Cow<'_, [u8]>> {
        match fact {
            Fact::ClientAddress => {
                let address = SocketAddr::new(self.0.client?, 0).to_string();
                Some(Cow::Owned(address.into_bytes()))
            }
            Fact::ServerAddress
            | Fact::ServerName
            | Fact::Tls
            | Fact::ServerNameIndication
            | Fact::Protocol => None,
        }
    }
}

/// For a parameter of a URL.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().fold(String::new(), |text, byte| {
        if plain(byte) {
            text + &char::from(byte).to_string()
        } else {
            text + &format!("%{byte:02X}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_what_the_request_says() {
        let header = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
        let check = AuthzRequest {
            client: "2001:db8::1".parse().ok(),
            host: "Shop.example:8443".to_owned(),
            scheme: "http".to_owned(),
            method: "GET".to_owned(),
            path: "/a b?x=1&Y=2".to_owned(),
            headers: vec![
                header("x-forwarded-proto", b"https"),
                header("cookie", b"a=1; B=2"),
                header("cookie", b"c=3"),
                header("x-team", b"one"),
                header("x-team", b"two"),
                header("x-raw", b"\xff"),
            ],
            ..AuthzRequest::default()
        };
        let says = |variable| String::from_utf8_lossy(&value(&variable, &check)).into_owned();
        assert_eq!(says(Variable::Host), "Shop.example:8443");
        assert_eq!(says(Variable::Hostname), "shop.example");
        assert_eq!(says(Variable::Scheme), "https");
        assert_eq!(says(Variable::Path), "/a b");
        assert_eq!(
            says(Variable::EscapedRequestUri),
            "%2Fa%20b%3Fx%3D1%26Y%3D2"
        );
        assert_eq!(says(Variable::Cookie("b".to_owned())), "2");
        assert_eq!(says(Variable::Cookie("C".to_owned())), "3");
        assert_eq!(says(Variable::Header("x-team".to_owned())), "one, two");
        assert_eq!(says(Variable::Argument("y".to_owned())), "2");
        assert_eq!(says(Variable::RemoteAddress), "2001:db8::1");
        assert_eq!(
            value(&Variable::Header("x-raw".to_owned()), &check),
            b"\xff"
        );
        assert_eq!(
            text(
                &Expression(vec![ExpressionPart::Variable(Variable::Header(
                    "x-raw".to_owned()
                ))]),
                &check
            ),
            ""
        );
    }
}
