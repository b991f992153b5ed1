//! URLs of external authentication services, and where they may lead.

use sluice_ir::{Expression, ExpressionPart, ExternalAuth, Variable};
use sluice_syntax::Parsed;
use sluice_syntax::settings::ext_auth::url_with_variables;
use sluice_translate_engine::{AddressPolicy, UpstreamUrl};

/// Parses `auth-url`. A client must not choose the service (R9 of the security rules), but it may be at the requested host.
pub(crate) fn parse(text: &str, addresses: &AddressPolicy) -> Parsed<Expression> {
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
    let (_, behind) = UpstreamUrl::parse(written, addresses)?;
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

/// The upstream of a service whose host is written out.
pub(crate) fn upstream(service: &ExternalAuth) -> Option<UpstreamUrl> {
    let Some(ExpressionPart::Text(text)) = service.url.0.first() else {
        return None;
    };
    UpstreamUrl::read(text).ok().map(|(target, _)| target)
}
