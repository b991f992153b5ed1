//! Meaning and rewriting of paths.

use sluice_syntax::MAX_HEADER_BYTES;
use sluice_syntax::template::Target;
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;

const NO_CAPTURES: &str = "no captured groups ($1) in it";

pub(super) const GROUP: Group = Group {
    title: "Paths",
    annotations: &[
        annotation("rewrite-target", Value::Text, Risk::Medium, Scope::Ingress)
            .changes_paths()
            .partly("of nginx variables only captured groups ($1 to $9); patterns that RE2 does not support are reported"),
        annotation("use-regex", Value::Bool, Risk::Low, Scope::Location)
            .changes_paths()
            .partly("backreferences are reported, and lookaround and possessive repetition where RE2 cannot do without (served: /(?!api)(.*)/b, /[^/]+/(?!api).*, /(.*)(?<!\\.js)$, /((?!api).)*$); so are patterns beyond a limit"),
        annotation("app-root", Value::Text, Risk::Medium, Scope::Host).partly("no variables of nginx"),
        annotation("x-forwarded-prefix", Value::Text, Risk::Medium, Scope::Location).partly(NO_CAPTURES),
    ],
};

/// Meaning of the paths of an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paths {
    pub(crate) use_regex: bool,
    pub(crate) rewrite: Option<Target>,
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
        rewrite: view.read("rewrite-target", Target::parse),
    }
}

/// Redirect target of a request for `/`.
pub(super) fn app_root(view: &mut View<'_, '_>) -> Option<String> {
    view.read("app-root", absolute_path)
}

/// A header that tells pods which part of the path was taken away; only where one was.
pub(super) fn forwarded_prefix(view: &mut View<'_, '_>) -> Option<String> {
    view.read("x-forwarded-prefix", |text| {
        let target = Target::parse(text)?;
        target
            .literal()
            .map(str::to_owned)
            .ok_or_else(|| "a path without captured groups".into())
    })
}

fn absolute_path(text: &str) -> Parsed<String> {
    let target = Target::parse(text).ok();
    let path = target
        .as_ref()
        .and_then(Target::literal)
        .filter(|path| path.starts_with('/'));
    let encoded = path
        .map(value::percent_encoded)
        .ok_or("an absolute path without variables")?;
    // It is a header of the answer.
    let fits = encoded.len() <= MAX_HEADER_BYTES;
    fits.then_some(encoded).ok_or_else(|| {
        format!("a path of at most {MAX_HEADER_BYTES} bytes, percent-encoded").into()
    })
}
