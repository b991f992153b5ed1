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
use sluice_ir::{Edge, Expression, Header, Part, Policy, Variable};

use super::format::format;
use super::header::{append, set};

/// Copy of a client's header, from before it was removed.
const SAID: &str = "x-sluice-said-";

/// The headers that all requests get.
pub(super) fn of_all(edge: &Edge) -> impl Iterator<Item = HeaderValueOption> {
    let says_something = |header: &&Header| !header.value.0.is_empty();
    let all = edge.request_headers.iter().filter(says_something);
    all.filter(|header| !needs_hidden(header, edge)).map(of)
}

/// Reads something that is hidden from pods already where all requests get their headers.
fn needs_hidden(header: &Header, edge: &Edge) -> bool {
    let is_target = |part: &Part| {
        matches!(
            part,
            Part::Variable(Variable::RequestUri | Variable::EscapedRequestUri)
        )
    };
    copied(header, edge).next().is_some() || header.value.0.iter().any(is_target)
}

/// Those that read what is removed; they come after the routes.
pub(super) fn of_host(edge: &Edge) -> Vec<HeaderValueOption> {
    let reading = edge
        .request_headers
        .iter()
        .filter(|header| needs_hidden(header, edge));
    reading
        .map(|header| {
            of(&Header {
                name: header.name.clone(),
                value: from_copies(header, edge),
            })
        })
        .collect()
}

/// What the routes of a location remove: an authentication service that is asked sees to its headers itself.
pub(super) fn removed(edge: &Edge, policy: &Policy) -> Vec<String> {
    let is_asked = policy.guard.is_some();
    let by_service = |name: &&str| {
        is_asked
            && policy
                .auth_headers
                .iter()
                .any(|header| header.as_str().eq_ignore_ascii_case(name))
    };
    names_removed(edge)
        .filter(|name| !by_service(name))
        .map(str::to_owned)
        .collect()
}

/// Copies of what is removed, as far as somebody reads them.
pub(super) fn copies(edge: &Edge) -> Vec<HeaderMutation> {
    names_copied(edge)
        .map(|name| append(set(&format!("{SAID}{name}"), &format!("%REQ({name})%"))))
        .collect()
}

/// Their names, for who hides them from pods.
pub(super) fn names_of_copies(edge: &Edge) -> Vec<String> {
    names_copied(edge)
        .map(|name| format!("{SAID}{name}"))
        .collect()
}

fn of(header: &Header) -> HeaderValueOption {
    set(header.name.as_str(), &format(&header.value))
}

/// Headers that may come to nothing, and that do not say themselves what the client said.
fn names_removed(edge: &Edge) -> impl Iterator<Item = &str> {
    let may_vanish = |header: &&Header| {
        !reads(&header.value).any(|name| name.eq_ignore_ascii_case(header.name.as_str()))
            && header.value.0.iter().all(|part| match part {
                Part::Text(text) => text.is_empty(),
                Part::Variable(variable) => {
                    matches!(
                        variable,
                        Variable::Header(_) | Variable::Cookie(_) | Variable::Argument(_)
                    )
                }
            })
    };
    edge.request_headers
        .iter()
        .filter(may_vanish)
        .map(|header| header.name.as_str())
}

fn names_copied(edge: &Edge) -> impl Iterator<Item = String> {
    let mut names: Vec<String> = edge
        .request_headers
        .iter()
        .flat_map(|header| copied(header, edge))
        .collect();
    names.sort();
    names.dedup();
    names.into_iter()
}

/// Removed headers that an expression reads, in lower case.
fn copied<'a>(header: &'a Header, edge: &'a Edge) -> impl Iterator<Item = String> + use<'a> {
    let removed =
        |name: &&str| names_removed(edge).any(|removed| removed.eq_ignore_ascii_case(name));
    reads(&header.value)
        .filter(removed)
        .map(str::to_ascii_lowercase)
}

fn reads(value: &Expression) -> impl Iterator<Item = &str> {
    value.0.iter().filter_map(|part| match part {
        Part::Variable(Variable::Header(name)) => Some(name.as_str()),
        _ => None,
    })
}

fn from_copies(header: &Header, edge: &Edge) -> Expression {
    let removed: Vec<String> = copied(header, edge).collect();
    let parts = header.value.0.iter().map(|part| match part {
        Part::Variable(Variable::Header(name))
            if removed.iter().any(|gone| gone.eq_ignore_ascii_case(name)) =>
        {
            Part::Variable(Variable::Header(format!(
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

    fn edge(headers: &[(&str, &[Part])]) -> Edge {
        let header = |(name, parts): &(&str, &[Part])| Header {
            name: HeaderName::parse(name).unwrap(),
            value: Expression(parts.to_vec()),
        };
        Edge {
            request_headers: headers.iter().map(header).collect(),
            ..Edge::default()
        }
    }

    fn header(name: &str) -> Part {
        Part::Variable(Variable::Header(name.to_owned()))
    }

    #[test]
    fn what_may_come_to_nothing_is_removed_unless_a_service_sets_it() {
        let edge = edge(&[
            ("X-User", &[]),
            ("X-Group", &[header("x-absent")]),
            ("X-Own", &[header("x-own")]),
            ("X-Team", &[Part::Text("shop".to_owned())]),
            ("X-Addr", &[Part::Variable(Variable::RemoteAddress)]),
        ]);
        let asked = |guard| Policy {
            guard,
            auth_headers: vec![HeaderName::parse("x-user").unwrap()],
            ..Policy::default()
        };
        assert_eq!(removed(&edge, &asked(None)), ["X-User", "X-Group"]);
        assert_eq!(
            removed(&edge, &asked(Some(sluice_ir::Guard::default()))),
            ["X-Group"]
        );
        assert!(copies(&edge).is_empty() && of_host(&edge).is_empty());
        assert_eq!(of_all(&edge).count(), 4);
    }

    #[test]
    fn what_reads_a_header_that_is_removed_reads_its_copy() {
        let edge = edge(&[
            ("X-Token", &[header("authorization")]),
            ("Authorization", &[]),
        ]);
        assert_eq!(names_of_copies(&edge), ["x-sluice-said-authorization"]);
        let [token] = of_host(&edge).try_into().unwrap();
        assert_eq!(
            token.header.unwrap().value,
            "%REQ(x-sluice-said-authorization)%"
        );
        assert_eq!(of_all(&edge).count(), 0);
    }
}
