//! Request headers that the operator sets.
//!
//! To nginx a header that comes to nothing is no header, whatever the client said. Envoy leaves alone what a format makes
//! nothing of, so such headers are removed first: on the route, because there it is known whether an authentication service
//! sets them. What reads a header that is removed reads a copy, which is made before everything:
//!
//! ```text
//!   X-Token: $http_authorization     early: x-sluice-said-authorization = %REQ(authorization)%
//!   Authorization: ""                route: removes authorization    virtual host: sets x-token    all: removes the copy
//! ```

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::core::v3::HeaderValueOption;
use sluice_ir::{Expression, ExpressionPart, GlobalConfig, Header, Policy, Variable};

use super::format::format;
use super::header::{append, set};

/// Copy of a client's header, from before it was removed.
const SAID: &str = "x-sluice-said-";

/// The headers that all requests get.
pub(super) fn of_all(global: &GlobalConfig) -> impl Iterator<Item = HeaderValueOption> {
    let says_something = |header: &&Header| !header.value.0.is_empty();
    let all = global.request_headers.iter().filter(says_something);
    all.filter(|header| !needs_hidden(header, global)).map(of)
}

/// Reads something that is hidden from pods already where all requests get their headers.
fn needs_hidden(header: &Header, global: &GlobalConfig) -> bool {
    let is_target = |part: &ExpressionPart| {
        matches!(
            part,
            ExpressionPart::Variable(Variable::RequestUri | Variable::EscapedRequestUri)
        )
    };
    copied(header, global).next().is_some() || header.value.0.iter().any(is_target)
}

/// Those that read what is removed; they come after the routes.
pub(super) fn of_host(global: &GlobalConfig) -> Vec<HeaderValueOption> {
    let reading = global
        .request_headers
        .iter()
        .filter(|header| needs_hidden(header, global));
    reading
        .map(|header| {
            of(&Header {
                name: header.name.clone(),
                value: from_copies(header, global),
            })
        })
        .collect()
}

/// Headers that the routes of a route remove; external authentication handles its own.
pub(super) fn removed(global: &GlobalConfig, policy: &Policy) -> Vec<String> {
    let is_asked = policy.authentication.is_some();
    let by_service = |name: &&str| {
        is_asked
            && policy
                .auth_headers
                .iter()
                .any(|header| header.as_str().eq_ignore_ascii_case(name))
    };
    names_removed(global)
        .filter(|name| !by_service(name))
        .map(str::to_owned)
        .collect()
}

/// Copies of removed headers that others read.
pub(super) fn copies(global: &GlobalConfig) -> Vec<HeaderMutation> {
    names_copied(global)
        .map(|name| append(set(&format!("{SAID}{name}"), &format!("%REQ({name})%"))))
        .collect()
}

/// Their names, for who hides them from pods.
pub(super) fn names_of_copies(global: &GlobalConfig) -> Vec<String> {
    names_copied(global)
        .map(|name| format!("{SAID}{name}"))
        .collect()
}

fn of(header: &Header) -> HeaderValueOption {
    set(header.name.as_str(), &format(&header.value))
}

/// Headers that may come to nothing, and that do not say themselves what the client said.
fn names_removed(global: &GlobalConfig) -> impl Iterator<Item = &str> {
    let may_vanish = |header: &&Header| {
        !reads(&header.value).any(|name| name.eq_ignore_ascii_case(header.name.as_str()))
            && header.value.0.iter().all(|part| match part {
                ExpressionPart::Text(text) => text.is_empty(),
                ExpressionPart::Variable(variable) => {
                    matches!(
                        variable,
                        Variable::Header(_) | Variable::Cookie(_) | Variable::Argument(_)
                    )
                }
            })
    };
    global
        .request_headers
        .iter()
        .filter(may_vanish)
        .map(|header| header.name.as_str())
}

fn names_copied(global: &GlobalConfig) -> impl Iterator<Item = String> {
    let mut names: Vec<String> = global
        .request_headers
        .iter()
        .flat_map(|header| copied(header, global))
        .collect();
    names.sort();
    names.dedup();
    names.into_iter()
}

/// Removed headers that an expression reads, in lower case.
fn copied<'a>(
    header: &'a Header,
    global: &'a GlobalConfig,
) -> impl Iterator<Item = String> + use<'a> {
    let removed =
        |name: &&str| names_removed(global).any(|removed| removed.eq_ignore_ascii_case(name));
    reads(&header.value)
        .filter(removed)
        .map(str::to_ascii_lowercase)
}

fn reads(value: &Expression) -> impl Iterator<Item = &str> {
    value.0.iter().filter_map(|part| match part {
        ExpressionPart::Variable(Variable::Header(name)) => Some(name.as_str()),
        _ => None,
    })
}

fn from_copies(header: &Header, global: &GlobalConfig) -> Expression {
    let removed: Vec<String> = copied(header, global).collect();
    let parts = header.value.0.iter().map(|part| match part {
        ExpressionPart::Variable(Variable::Header(name))
            if removed.iter().any(|gone| gone.eq_ignore_ascii_case(name)) =>
        {
            ExpressionPart::Variable(Variable::Header(format!(
                "{SAID}{}",
                name.to_ascii_lowercase()
            )))
        }
        other => other.clone(),
    });
    Expression(parts.collect())
}

#[cfg(test)]
mod tests {
    use sluice_ir::HeaderName;

    use super::*;

    fn global(headers: &[(&str, &[ExpressionPart])]) -> GlobalConfig {
        let header = |(name, parts): &(&str, &[ExpressionPart])| Header {
            name: HeaderName::parse(name).unwrap(),
            value: Expression(parts.to_vec()),
        };
        GlobalConfig {
            request_headers: headers.iter().map(header).collect(),
            ..GlobalConfig::default()
        }
    }

    fn header(name: &str) -> ExpressionPart {
        ExpressionPart::Variable(Variable::Header(name.to_owned()))
    }

    #[test]
    fn what_may_come_to_nothing_is_removed_unless_a_service_sets_it() {
        let global = global(&[
            ("X-User", &[]),
            ("X-Group", &[header("x-absent")]),
            ("X-Own", &[header("x-own")]),
            ("X-Team", &[ExpressionPart::Text("shop".to_owned())]),
            (
                "X-Addr",
                &[ExpressionPart::Variable(Variable::RemoteAddress)],
            ),
        ]);
        let asked = |authentication| Policy {
            authentication,
            auth_headers: vec![HeaderName::parse("x-user").unwrap()],
            ..Policy::default()
        };
        assert_eq!(removed(&global, &asked(None)), ["X-User", "X-Group"]);
        assert_eq!(
            removed(&global, &asked(Some(sluice_ir::Authentication::default()))),
            ["X-Group"]
        );
        assert!(copies(&global).is_empty() && of_host(&global).is_empty());
        assert_eq!(of_all(&global).count(), 4);
    }

    #[test]
    fn what_reads_a_header_that_is_removed_reads_its_copy() {
        let global = global(&[
            ("X-Token", &[header("authorization")]),
            ("Authorization", &[]),
        ]);
        assert_eq!(names_of_copies(&global), ["x-sluice-said-authorization"]);
        let [token] = of_host(&global).try_into().unwrap();
        assert_eq!(
            token.header.unwrap().value,
            "%REQ(x-sluice-said-authorization)%"
        );
        assert_eq!(of_all(&global).count(), 0);
    }
}
