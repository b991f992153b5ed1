//! External authentication: a service that says who may come in.

use std::collections::BTreeSet;

use sluice_ir::{Expression, ExpressionPart, ExternalAuth, Header, HeaderName, Variable};

pub(crate) use super::auth_cache::{durations, usual_durations};
use sluice_syntax::expression;
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::view::View;
use crate::AddressPolicy;
use crate::external_host::Target;
use crate::global::Globals;

/// As ingress-nginx accepts them.
const METHODS: &[&str] = &[
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE",
];
const CONNECTIONS: &str = "a question has a connection of its own";

pub(super) const GROUP: Group = Group {
    title: "External authentication",
    annotations: &[
        annotation("auth-url", Value::Url, Risk::High, Scope::Location)
            .guard()
            .partly("a written host or $host; the service sees no ssl-client-* headers"),
        annotation(
            "auth-method",
            Value::OneOf(METHODS),
            Risk::Low,
            Scope::Location,
        )
        .guard()
        .may_be_blank()
        .full(),
        annotation("auth-signin", Value::Url, Risk::High, Scope::Location)
            .guard()
            .may_be_blank()
            .partly("of nginx's variables those that Sluice has"),
        annotation(
            "auth-signin-redirect-param",
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .guard()
        .may_be_blank()
        .full(),
        annotation(
            "auth-response-headers",
            Value::List,
            Risk::Medium,
            Scope::Location,
        )
        .guard()
        .full(),
        annotation(
            "auth-proxy-set-headers",
            Value::ConfigMap,
            Risk::Medium,
            Scope::Location,
        )
        .guard()
        .partly("of nginx's variables those that Sluice has"),
        annotation(
            "auth-request-redirect",
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .guard()
        .may_be_blank()
        .partly("of nginx's variables those that Sluice has"),
        annotation(
            "auth-always-set-cookie",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .guard()
        .may_be_blank()
        .full(),
        annotation("auth-cache-key", Value::Text, Risk::Medium, Scope::Location)
            .guard()
            .may_be_blank()
            .partly("of nginx's variables those that Sluice has"),
        annotation(
            "auth-cache-duration",
            Value::List,
            Risk::Medium,
            Scope::Location,
        )
        .guard()
        .full(),
        annotation("auth-keepalive", Value::Int, Risk::Low, Scope::Location).needless(CONNECTIONS),
        annotation(
            "auth-keepalive-share-vars",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .needless(CONNECTIONS),
        annotation(
            "auth-keepalive-requests",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .needless(CONNECTIONS),
        annotation(
            "auth-keepalive-timeout",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .needless(CONNECTIONS),
        annotation("auth-snippet", Value::Text, Risk::Critical, Scope::Location)
            .snippet()
            .instead("no raw nginx configuration; auth-proxy-set-headers adds headers"),
        annotation(
            "enable-global-auth",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .guard()
        .may_be_blank()
        .full(),
    ],
};

/// The Ingress's own question, or the operator's.
pub(super) fn question(view: &mut View<'_, '_>, globals: &Globals) -> Option<ExternalAuth> {
    let applies = view.read("enable-global-auth", value::bool).unwrap_or(true);
    let addresses = view.references.tracker.addresses;
    let url = view.read("auth-url", |text| url(text, addresses));
    let redirect = view.read("auth-signin-redirect-param", parameter);
    let sign_in = view.read("auth-signin", |text| sign_in(text, redirect.as_deref()));
    let key = view.read("auth-cache-key", expression::for_ext_auth);
    let durations = view.read("auth-cache-duration", durations);
    let method = view.read("auth-method", method);
    let to_pods = view
        .read("auth-response-headers", header_names)
        .unwrap_or_default();
    let back = view.read("auth-request-redirect", expression::for_ext_auth);
    let always_cookies = view.flag("auth-always-set-cookie");
    let (host, headers) = headers(view);
    let Some(url) = url else {
        return globals.question.clone().filter(|_| applies);
    };
    let memory = key.map(|key| durations.unwrap_or_else(usual_durations).with(key));
    let back = back.unwrap_or_else(request_uri);
    Some(ExternalAuth {
        url,
        backend: None,
        method,
        signin_url: sign_in,
        upstream_headers: to_pods,
        host,
        headers,
        redirect_url: back,
        always_set_cookie: always_cookies,
        cache: memory,
    })
}

/// The headers that the Ingress's own service sets, and the operator's. Where one of them is not asked, a client could say
/// them itself; and where names may have underscores, in a spelling that a pod takes for the same one (WSGI and CGI do).
pub(super) fn auth_headers(view: &mut View<'_, '_>, globals: &Globals) -> Vec<HeaderName> {
    const NAME: &str = "auth-response-headers";
    let own = view
        .text(NAME)
        .and_then(|text| header_names(text).ok())
        .unwrap_or_default();
    let all: BTreeSet<HeaderName> = globals.auth_headers.iter().cloned().chain(own).collect();
    if !globals.config.underscores_in_headers {
        return all.into_iter().collect();
    }
    let (mut spelled, mut unspelled) = (BTreeSet::new(), false);
    for name in all {
        match name.spellings() {
            Some(spellings) => spelled.extend(spellings),
            None => {
                unspelled = true;
                spelled.insert(name);
            }
        }
    }
    if unspelled {
        view.refuse(
            NAME,
            "names with at most five of - and _ (enable-underscores-in-headers is on)",
        );
    }
    spelled.into_iter().collect()
}

/// What is asked with, and the `Host` among it.
fn headers(view: &mut View<'_, '_>) -> (Option<Expression>, Vec<Header>) {
    const NAME: &str = "auth-proxy-set-headers";
    let (mut host, mut headers) = (None, Vec::new());
    let Some(text) = view.text(NAME) else {
        return (host, headers);
    };
    let data = match view.references.config_map(&view.namespace, text) {
        Ok(data) => data,
        Err(error) => {
            view.without(NAME, error, "");
            return (host, headers);
        }
    };
    for (name, text) in data {
        let mut read = || -> Parsed<()> {
            let value = expression::for_ext_auth(text)?;
            if name.eq_ignore_ascii_case("host") {
                host = Some(value);
            } else {
                headers.push(Header {
                    name: value::own_header(name)?,
                    value,
                });
            }
            Ok(())
        };
        if let Err(expected) = read() {
            view.refuse_part(NAME, &expected, &format!("{name}: {text}"));
        }
    }
    (host, headers)
}

/// Target of the service, when its name is written out.
pub(crate) fn target(question: &ExternalAuth) -> Option<Target> {
    let Some(ExpressionPart::Text(text)) = question.url.0.first() else {
        return None;
    };
    Target::read(text).ok().map(|(target, _)| target)
}

/// What a client says must not choose whom we ask (R9 of the security rules): but its own host may be asked.
pub(crate) fn url(text: &str, addresses: &AddressPolicy) -> Parsed<Expression> {
    let url = url_with_variables(text)?;
    let [first, rest @ ..] = url.0.as_slice() else {
        return Err("a URL".into());
    };
    let ExpressionPart::Text(written) = first else {
        return Err("a URL that begins with http:// or https://".into());
    };
    if matches!(written.as_str(), "http://" | "https://") {
        let asked_for = matches!(
            rest.first(),
            Some(ExpressionPart::Variable(
                Variable::Host | Variable::Hostname
            ))
        );
        let ends = match rest.get(1) {
            None => true,
            Some(ExpressionPart::Text(text)) => text.starts_with(['/', '?']),
            Some(ExpressionPart::Variable(variable)) => *variable == Variable::RequestUri,
        };
        return if asked_for && ends {
            Ok(url)
        } else {
            Err("a URL with a written host, or with $host".into())
        };
    }
    let (_, behind) = Target::parse(written, addresses)?;
    let host_ends = !behind.is_empty()
        || matches!(
            rest.first(),
            None | Some(ExpressionPart::Variable(Variable::RequestUri))
        );
    if host_ends {
        Ok(url)
    } else {
        Err("a URL with a written host, or with $host".into())
    }
}

fn url_with_variables(text: &str) -> Parsed<Expression> {
    let allowed = |letter: char| {
        letter.is_ascii_alphanumeric() || "-._~/:?#[]@!&'()*+,;=%${}".contains(letter)
    };
    let valid = text.len() <= 2000 && text.chars().all(allowed);
    if valid {
        expression::for_ext_auth(text)
    } else {
        Err("a URL".into())
    }
}

/// The name of a parameter of a URL.
pub(crate) fn parameter(text: &str) -> Parsed<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let valid = (1..=64).contains(&text.len()) && text.bytes().all(plain);
    if valid {
        Ok(text.to_owned())
    } else {
        Err("the name of a parameter".into())
    }
}

/// With the way back behind it, unless it has one.
pub(crate) fn sign_in(text: &str, parameter: Option<&str>) -> Parsed<Expression> {
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
        return url_with_variables(text);
    }
    let separator = if query.is_some_and(|query| !query.is_empty()) {
        '&'
    } else {
        '?'
    };
    let text = text.trim_end_matches('?');
    url_with_variables(&format!(
        "{text}{separator}{parameter}=$pass_access_scheme://$http_host$escaped_request_uri"
    ))
}

pub(crate) fn method(text: &str) -> Parsed<String> {
    let known = METHODS.contains(&text);
    if known {
        Ok(text.to_owned())
    } else {
        Err(format!("one of {}", METHODS.join(", ")).into())
    }
}

/// Headers of a connection are not for a service to say.
pub(crate) fn header_names(text: &str) -> Parsed<Vec<HeaderName>> {
    const OF_CONNECTIONS: &[&str] = &["connection", "upgrade", "te", "trailer"];
    let name = |name: &str| {
        let name = value::own_header(name)?.to_lowercase();
        if OF_CONNECTIONS.contains(&name.as_str()) {
            Err("headers that are not of a connection".into())
        } else {
            Ok(name)
        }
    };
    value::list(text).into_iter().map(name).collect()
}

pub(crate) fn request_uri() -> Expression {
    Expression(vec![ExpressionPart::Variable(Variable::RequestUri)])
}

#[cfg(test)]
mod tests;
