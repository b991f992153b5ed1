//! Meaning and rewriting of paths.

use std::collections::BTreeSet;

use sluice_ir::Expression;
use sluice_syntax::expression;
use sluice_syntax::template::Target;
use sluice_syntax::value::Parsed;

use super::catalogue::{Group, Scope, Value, annotation};
use super::redirect::VARIABLES_OF_URLS;
use super::view::View;
use crate::risk::Risk;
use crate::route_names::RouteNames;
use crate::snippet;
use crate::support::Support;

pub(super) const GROUP: Group = Group {
    title: "Paths",
    annotations: &[
        annotation("rewrite-target", Value::Text, Risk::Medium, Scope::Ingress)
            .changes_paths()
            .partly("of nginx variables captured groups ($1 to $9), $host, $namespace, $ingress_name, $service_name and $service_port"),
        annotation("use-regex", Value::Bool, Risk::Low, Scope::Location)
            .changes_paths()
            .partly("recursion, conditional groups, callouts and verbs are reported, flags other than i and s, (?-i), Unicode classes (nginx compares bytes), characters by number that are not visible ones of ASCII, groups with the name of a variable of nginx, patterns beyond a limit, and on hosts with a wildcard backreferences and lookaround where RE2 cannot do without (served: /(?!api)(.*)/b, /[^/]+/(?!api).*, /(.*)(?<!\\.js)$, /((?!api).)*$)")
            .nginx(Support::Partly("recursion, conditional groups, callouts and verbs are reported, flags other than i and s, (?-i), Unicode classes (nginx compares bytes), characters by number that are not visible ones of ASCII, groups with the name of a variable of nginx, and patterns beyond a limit")),
        annotation("app-root", Value::Text, Risk::Medium, Scope::Host).partly(VARIABLES_OF_URLS),
        annotation("x-forwarded-prefix", Value::Text, Risk::Medium, Scope::Location)
            .partly("of nginx variables captured groups ($1 to $9), $host, $namespace, $ingress_name, $service_name and $service_port"),
    ],
};

/// Meaning of the paths of an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paths {
    pub(crate) use_regex: bool,
    pub(crate) rewrite: Option<RouteTemplate>,
    /// A header that tells pods which part of the path was taken away; only where one was.
    pub(crate) forwarded_prefix: Option<RouteTemplate>,
    /// Variables that snippets of the Ingress read: to nginx a group with such a name sets it.
    pub(crate) snippet_variables: BTreeSet<String>,
}

/// A text with captured groups, which may name the route: `/$service_name/$1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RouteTemplate {
    /// The same on every route.
    Same(Target),
    /// Names the route.
    Naming(String),
}

impl RouteTemplate {
    fn parse(text: &str) -> Parsed<Self> {
        let longest = RouteNames::longest();
        let target = Target::for_route(text, |name| longest.get(name))?;
        Ok(match RouteNames::are_in(text) {
            true => RouteTemplate::Naming(text.to_owned()),
            false => RouteTemplate::Same(target),
        })
    }

    /// The text on a route; `None`: it has no such names.
    pub(crate) fn on(&self, route: Option<&RouteNames>) -> Option<Target> {
        match self {
            RouteTemplate::Same(target) => Some(target.clone()),
            RouteTemplate::Naming(text) => {
                let route = route?;
                Target::for_route(text, |name| route.get(name)).ok()
            }
        }
    }

    fn literal(&self) -> Option<&str> {
        match self {
            RouteTemplate::Same(target) => target.literal(),
            RouteTemplate::Naming(_) => None,
        }
    }
}

impl Paths {
    /// True if a path of this Ingress is a pattern. It makes all paths of its namespace on that host patterns.
    pub(crate) fn is_pattern(&self, path: &str) -> bool {
        self.use_regex || self.rewrites(path)
    }

    /// The annotation that makes patterns, for reports.
    pub(crate) fn annotation(&self) -> &'static str {
        if self.use_regex {
            "annotation use-regex"
        } else {
            "annotation rewrite-target"
        }
    }

    /// A target that is the path itself changes nothing.
    pub(crate) fn rewrites(&self, path: &str) -> bool {
        self.rewrite
            .as_ref()
            .is_some_and(|target| target.literal() != Some(path))
    }
}

pub(super) fn paths(view: &mut View<'_, '_>) -> Paths {
    Paths {
        use_regex: view.flag("use-regex"),
        rewrite: view.read("rewrite-target", RouteTemplate::parse),
        forwarded_prefix: view.read("x-forwarded-prefix", RouteTemplate::parse),
        snippet_variables: view
            .snippets
            .iter()
            .flat_map(|snippet| snippet::variables_in(snippet.text))
            .collect(),
    }
}

/// Redirect target of a request for `/`.
pub(super) fn app_root(view: &mut View<'_, '_>) -> Option<Expression> {
    view.read("app-root", expression::for_app_root)
}
