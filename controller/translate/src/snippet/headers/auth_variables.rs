//! `auth_request_set`: variables with headers of an authentication service's response.

use std::collections::BTreeMap;

use sluice_ir::HeaderName;
use sluice_syntax::variables::{Segment, segments};

use crate::snippet::syntax::reserved_variables;
use crate::snippet::syntax::tree::Directive;

const PREFIX: &str = "upstream_http_";

/// Response headers by the variables that have them. Names are in lower case.
#[derive(Clone, Debug, Default)]
pub(in crate::snippet) struct AuthVariables(BTreeMap<String, HeaderName>);

impl AuthVariables {
    /// The variables of a location. nginx sets them when the service has answered, wherever they are written; one that is set
    /// twice is none.
    pub(in crate::snippet) fn read(all: &[Directive]) -> Self {
        let mut variables = BTreeMap::new();
        let mut twice = Vec::new();
        for directive in all {
            let Some((name, header)) = parse(directive) else {
                continue;
            };
            if variables.insert(name.clone(), header).is_some() {
                twice.push(name);
            }
        }
        variables.retain(|name, _| !twice.contains(name));
        AuthVariables(variables)
    }

    /// True if a directive sets one of them.
    pub(super) fn are_set_by(&self, directive: &Directive) -> bool {
        parse(directive).is_some_and(|(name, _)| self.0.contains_key(&name))
    }

    /// The response header that a value is, and nothing else.
    pub(in crate::snippet) fn header(&self, value: &str) -> Option<&HeaderName> {
        self.0.get(&variable(value)?)
    }
}

/// `auth_request_set $user $upstream_http_x_user`
fn parse(directive: &Directive) -> Option<(String, HeaderName)> {
    let words = directive.words();
    let (["auth_request_set", name, value], None) = (words.as_slice(), &directive.block) else {
        return None;
    };
    let name = variable(name)?;
    let header = variable(value)?.strip_prefix(PREFIX)?.replace('_', "-");
    let header = HeaderName::parse(&header).ok()?;
    // ingress-nginx has variables of its own for this.
    let is_own = match name.as_str() {
        "auth_cookie" => is_cookie(&header),
        name => {
            let is_of_authentication = name.starts_with("auth_");
            !name.starts_with("authheader")
                && (is_of_authentication || !reserved_variables::has_a_meaning(name))
        }
    };
    is_own.then_some((name, header))
}

/// Cookies of the service, which clients get anyway.
pub(super) fn is_cookie(header: &HeaderName) -> bool {
    header.as_str() == "set-cookie"
}

/// The name of the variable that a text is.
fn variable(text: &str) -> Option<String> {
    let mut segments = segments(text);
    match (segments.next(), segments.next()) {
        (Some(Segment::Variable { name, .. }), None) => Some(name.to_ascii_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::syntax::tree::directives;

    #[test]
    fn a_variable_has_one_header() {
        let text = "auth_request_set $user $upstream_http_x_auth_request_user;\n\
                    auth_request_set $Twice $upstream_http_a;\nauth_request_set $twice $upstream_http_b;\n\
                    auth_request_set $auth_cookie $upstream_http_set_cookie;\n\
                    auth_request_set $auth_email ${upstream_http_x_email};";
        let all = directives(text).unwrap();
        let variables = AuthVariables::read(&all);
        let header = |value| variables.header(value).map(HeaderName::as_str);
        assert_eq!(header("$user"), Some("x-auth-request-user"));
        assert_eq!(header("${USER}"), Some("x-auth-request-user"));
        assert_eq!(header("$auth_email"), Some("x-email"));
        assert_eq!(header("$auth_cookie"), Some("set-cookie"));
        for other in ["$twice", "user", "$user-", "$other", ""] {
            assert_eq!(header(other), None, "{other}");
        }
        assert!(variables.are_set_by(&all[0]) && !variables.are_set_by(&all[1]));
    }

    #[test]
    fn variables_of_others_are_not_set() {
        for bad in [
            "auth_request_set $host $upstream_http_a;",
            "auth_request_set $authHeader0 $upstream_http_a;",
            "auth_request_set $auth_cookie $upstream_http_a;",
            "auth_request_set $a $upstream_status;",
            "auth_request_set $a $upstream_http_x_sluice_a;",
            "auth_request_set $a x$upstream_http_a;",
            "auth_request_set $a $upstream_cookie_a;",
            "auth_request_set $a;",
        ] {
            let all = directives(bad).unwrap();
            assert!(!AuthVariables::read(&all).are_set_by(&all[0]), "{bad}");
        }
    }
}
