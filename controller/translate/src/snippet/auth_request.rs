//! `auth-snippet`: headers of requests to an authentication service.

use sluice_ir::{Expression, ExternalAuth, Header, HeaderName};
use sluice_syntax::expression;

use crate::snippet::defaults;
use crate::snippet::error::SnippetErrors;
use crate::snippet::headers::changes::HeaderChanges;
use crate::snippet::rewrite::constants::Constants;
use crate::snippet::syntax::tree::directives;

/// Headers of requests to an authentication service; an empty value removes one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthRequest {
    /// `Host`, if it is set.
    pub(crate) host: Option<Expression>,
    pub(crate) headers: Vec<Header>,
}

impl AuthRequest {
    /// Parses a snippet. nginx would send a header twice that is set twice, which services read differently.
    pub(crate) fn parse(text: &str, constants: Option<&Constants>) -> Result<Self, SnippetErrors> {
        let mut request = AuthRequest::default();
        let mut errors = SnippetErrors::default();
        for directive in &directives(text)? {
            let set = match (directive.words().as_slice(), &directive.block) {
                (["proxy_set_header", name, value], None) => {
                    let known = constants.map(|it| it.text(value));
                    request.set(name, known.as_deref().unwrap_or(value))
                }
                (words, None) => defaults::is_default(words).then_some(()),
                (_, Some(_)) => None,
            };
            errors.take(set.ok_or_else(|| directive.unsupported()))?;
            directive.at_most(
                request.headers.len(),
                HeaderChanges::MAX,
                "headers that are set",
            )?;
        }
        errors.check()?;
        Ok(request)
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        let value = expression::for_ext_auth(value).ok()?;
        if name.eq_ignore_ascii_case("host") {
            return self.host.replace(value).is_none().then_some(());
        }
        let name = HeaderName::parse(name).ok()?;
        if self.sets(&name) {
            return None;
        }
        self.headers.push(Header { name, value });
        Some(())
    }

    /// Sets the headers of requests to a service.
    pub(crate) fn apply_to(self, service: &mut ExternalAuth) {
        service.host = self.host.or(service.host.take());
        service.headers.extend(self.headers);
    }

    /// True if it changes a header of this name.
    pub(crate) fn sets(&self, name: &HeaderName) -> bool {
        let mut headers = self.headers.iter();
        headers.any(|header| header.name.is_alike(name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_set_once_each() {
        let text = "proxy_set_header Host auth.test;\nproxy_set_header X-A \"$host-$http_b\";\n\
                    proxy_set_header Cookie '';\nproxy_http_version 1.1;";
        let request = AuthRequest::parse(text, None).unwrap();
        assert_eq!(request.host, Some(Expression::literal("auth.test")));
        let names: Vec<_> = request
            .headers
            .iter()
            .map(|header| header.name.as_str())
            .collect();
        assert_eq!(names, ["X-A", "Cookie"]);
        assert_eq!(request.headers[1].value, Expression::default());
        for bad in [
            "proxy_set_header host a;",
            "proxy_set_header x_a b;",
            "proxy_set_header X-B $upstream_addr;",
            "proxy_set_header X-B;",
            "proxy_set_header Content-Length 1;",
            "proxy_set_header X-Sluice-Trust 1;",
            "auth_request_set $a $upstream_http_a;",
            "if ($host = a) { proxy_set_header X-B c; }",
            "deny all;",
            "proxy_set_header X-B \"a\nb\";",
        ] {
            let error = AuthRequest::parse(&format!("{text}\n{bad}"), None).unwrap_err();
            assert_eq!(error.by_line()[0].line, 5, "{bad}");
        }
    }

    #[test]
    fn headers_are_limited() {
        let of = |count| {
            let lines = (0..count).map(|n| format!("proxy_set_header X-{n} a;\n"));
            AuthRequest::parse(&lines.collect::<String>(), None)
        };
        assert!(of(HeaderChanges::MAX).is_ok());
        let error = of(HeaderChanges::MAX + 1).unwrap_err();
        assert_eq!(error.by_line()[0].line, HeaderChanges::MAX + 1);
    }
}
