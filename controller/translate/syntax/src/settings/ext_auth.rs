//! External authentication.

use std::borrow::Cow;

use sluice_ir::{Expression, ExpressionPart, HeaderName, Variable};

use crate::expression;
use crate::value::{self, Parsed};

/// Methods of requests to the service, as ingress-nginx accepts them.
pub const METHODS: &[&str] = &[
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE",
];

/// A URL with variables in it, and with constants in the place of some.
pub fn url_with_variables<'a>(
    text: &str,
    constant: impl Fn(&str) -> Option<&'a str>,
) -> Parsed<Expression> {
    of_url(text, |text| expression::for_ext_auth_with(text, constant))
}

fn of_url(text: &str, parse: impl FnOnce(&str) -> Parsed<Expression>) -> Parsed<Expression> {
    let allowed = |letter: char| {
        letter.is_ascii_alphanumeric() || "-._~/:?#[]@!&'()*+,;=%${}".contains(letter)
    };
    let valid = text.len() <= 2000 && text.chars().all(allowed);
    if valid {
        parse(text)
    } else {
        Err("a URL".into())
    }
}

/// The name of a parameter of a URL.
pub fn parameter(text: &str) -> Parsed<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let valid = (1..=64).contains(&text.len()) && text.bytes().all(plain);
    if valid {
        Ok(text.to_owned())
    } else {
        Err("the name of a parameter".into())
    }
}

/// The URL of a sign-in page, with constants in the place of some variables. The URL to return to is added as a parameter, unless it
/// has one. It is of the request itself, so it has the query, too, which nginx's request to the service has not.
pub fn sign_in<'a>(
    text: &str,
    parameter: Option<&str>,
    constant: impl Fn(&str) -> Option<&'a str>,
) -> Parsed<Expression> {
    of_url(&with_way_back(text, parameter)?, |text| {
        expression::for_sign_in(text, constant)
    })
}

fn with_way_back<'t>(text: &'t str, parameter: Option<&str>) -> Parsed<Cow<'t, str>> {
    let parameter = parameter.unwrap_or("rd");
    let is_place = ["http://", "https://", "/", "$"]
        .iter()
        .any(|begin| text.starts_with(begin));
    if !is_place {
        return Err("a URL or a path".into());
    }
    let query = text.split_once('?').map(|(_, query)| query);
    let mut parameters = query.into_iter().flat_map(|query| query.split('&'));
    let has_one = parameters.any(|pair| {
        pair.split_once('=')
            .is_some_and(|(name, value)| name == parameter && !value.is_empty())
    });
    if has_one {
        return Ok(Cow::Borrowed(text));
    }
    let separator = if query.is_some_and(|query| !query.is_empty()) {
        '&'
    } else {
        '?'
    };
    let text = text.trim_end_matches('?');
    Ok(Cow::Owned(format!(
        "{text}{separator}{parameter}=$pass_access_scheme://$http_host$escaped_request_uri"
    )))
}

/// One of [`METHODS`].
pub fn method(text: &str) -> Parsed<String> {
    let known = METHODS.contains(&text);
    if known {
        Ok(text.to_owned())
    } else {
        Err(format!("one of {}", METHODS.join(", ")).into())
    }
}

/// Headers that an authentication service sets for pods. Each is a variable and a header of each path in nginx: with 800 for
/// 500 paths it takes a minute to read its configuration.
pub const MAX_RESPONSE_HEADERS: usize = 32;
const TOO_MANY_RESPONSE_HEADERS: &str = "at most 32 names of headers";

/// Headers of the response that requests to upstreams get; none that belong to a connection.
pub fn header_names(text: &str) -> Parsed<Vec<HeaderName>> {
    const OF_CONNECTIONS: &[&str] = &["connection", "upgrade", "te", "trailer"];
    let name = |name: &str| {
        let name = value::own_header(name)?.to_lowercase();
        if OF_CONNECTIONS.contains(&name.as_str()) {
            Err("headers that are not of a connection".into())
        } else {
            Ok(name)
        }
    };
    let names = value::list(text);
    if names.len() > MAX_RESPONSE_HEADERS {
        return Err(TOO_MANY_RESPONSE_HEADERS.into());
    }
    names.into_iter().map(name).collect()
}

/// `$request_uri`.
#[must_use]
pub fn request_uri() -> Expression {
    Expression(vec![ExpressionPart::Variable(Variable::RequestUri)])
}
