//! URLs of external authentication services, and where they may lead.

use sluice_ir::{Expression, ExpressionPart, ExternalAuth, Variable};
use sluice_syntax::Parsed;
use sluice_syntax::settings::ext_auth::url_with_variables;
use sluice_translate_engine::{AddressPolicy, UpstreamUrl};

use crate::route_names::RouteNames;

const HOST: &str = "a URL with a literal host, or with $host and no port";

/// Parses `auth-url`. A client must not choose the service (R9 of the security rules), but it may be at the requested host.
pub(crate) fn parse(text: &str, addresses: &AddressPolicy) -> Parsed<Expression> {
    let url = url_with_variables(text, |_| None)?;
    checked(url, addresses)
}

/// The same, with the longest names in place of those of a route.
pub(crate) fn parse_of_route(text: &str, addresses: &AddressPolicy) -> Parsed<Expression> {
    let authority = text.split_once("://").map_or(text, |(_, behind)| behind);
    let authority = authority.split(['/', '?']).next().unwrap_or_default();
    if RouteNames::are_in(authority) {
        return Err(HOST.into());
    }
    checked(with_names(text, &RouteNames::longest())?, addresses)
}

/// A URL with names of a route in it.
pub(crate) fn with_names(text: &str, names: &RouteNames) -> Parsed<Expression> {
    url_with_variables(text, |name| names.get(name))
}

fn checked(url: Expression, addresses: &AddressPolicy) -> Parsed<Expression> {
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
            Err(HOST.into())
        };
    }
    let (_, behind) = UpstreamUrl::parse(written, addresses)?;
    let host_ends = !behind.is_empty()
        || matches!(
            rest.first(),
            None | Some(ExpressionPart::Variable(Variable::RequestUri))
        );
    if host_ends { Ok(url) } else { Err(HOST.into()) }
}

/// The upstream of a service whose host is written out.
pub(crate) fn upstream(service: &ExternalAuth) -> Option<UpstreamUrl> {
    let Some(ExpressionPart::Text(text)) = service.url.0.first() else {
        return None;
    };
    UpstreamUrl::read(text).ok().map(|(target, _)| target)
}
