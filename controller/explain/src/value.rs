//! Values that have parts of the request in them.

use sluice_ir::{
    Expression, ExpressionPart, PathMatch, PathRewrite, Template, TemplatePart, Variable,
};

use crate::path;
use crate::request::Request;

/// The value of an expression. What only a data plane knows stays a variable.
pub(crate) fn of_expression(expression: &Expression, request: &Request) -> String {
    let parts = expression.0.iter().map(|part| match part {
        ExpressionPart::Text(text) => text.clone(),
        ExpressionPart::Variable(variable) => of_variable(variable, request),
    });
    parts.collect()
}

fn of_variable(variable: &Variable, request: &Request) -> String {
    match variable {
        Variable::Host => request.authority(),
        Variable::Hostname => request.host.clone(),
        Variable::Scheme => request.told_scheme().to_owned(),
        Variable::Method => request.method.clone(),
        Variable::RequestUri => request.target.clone(),
        Variable::Query => request.query().unwrap_or_default().to_owned(),
        Variable::QuestionMark => match request.query() {
            Some(query) if !query.is_empty() => "?".to_owned(),
            _ => String::new(),
        },
        Variable::Path => request.path.clone().unwrap_or_default(),
        Variable::ServerPort => request.port().to_string(),
        Variable::Header(name) => request.header(name).unwrap_or_default(),
        Variable::Cookie(name) => request.cookie(name).unwrap_or_default(),
        Variable::Argument(name) => request.argument(name).unwrap_or_default().to_owned(),
        Variable::RemoteAddress
        | Variable::EscapedRequestUri
        | Variable::ScriptName
        | Variable::RequestId
        | Variable::Time
        | Variable::IsoTime
        | Variable::Status
        | Variable::UpstreamAddress
        | Variable::UpstreamStatus => variable.to_string(),
    }
}

/// Parts of a request that a match has taken.
#[derive(Default)]
pub(crate) struct Matched<'r> {
    /// Of [`PathMatch::Prefix`].
    prefix: &'r str,
    /// Groups of a pattern.
    groups: Option<path::Groups>,
}

impl<'r> Matched<'r> {
    /// By the path of a route.
    pub(crate) fn by(path: &'r PathMatch, request: &'r Request) -> Self {
        let taken = request.path.as_deref().unwrap_or_default();
        match path {
            PathMatch::Regex(regex) => Matched {
                groups: path::captures(regex, taken),
                ..Matched::default()
            },
            PathMatch::Exact(prefix) | PathMatch::Prefix(prefix) => Matched {
                prefix,
                ..Matched::default()
            },
        }
    }

    pub(crate) fn by_pattern(groups: path::Groups) -> Self {
        Matched {
            groups: Some(groups),
            ..Matched::default()
        }
    }
}

/// The path that takes the place of the request's.
pub(crate) fn of_rewrite(
    rewrite: &PathRewrite,
    matched: &Matched<'_>,
    request: &Request,
) -> String {
    match rewrite {
        PathRewrite::Full { full } => full.clone(),
        PathRewrite::Template(template) => of_template(template, matched, request),
        PathRewrite::Prefix { prefix } => {
            let path = request.path.as_deref().unwrap_or_default();
            let rest = path::behind(matched.prefix, path).unwrap_or_default();
            match (prefix.as_str(), rest.trim_start_matches('/')) {
                (prefix, "") => prefix.to_owned(),
                ("/", rest) => format!("/{rest}"),
                (prefix, rest) => format!("{prefix}/{rest}"),
            }
        }
    }
}

/// A text with groups of a pattern.
pub(crate) fn of_template(template: &Template, matched: &Matched<'_>, request: &Request) -> String {
    let group = |number: u8| {
        let groups = matched.groups.as_ref()?;
        groups.get(number)
    };
    let parts = template.0.iter().map(|part| match part {
        TemplatePart::Text(text) => text.clone(),
        TemplatePart::Group(number) => group(*number).unwrap_or_default().to_owned(),
        TemplatePart::Host => request.host.clone(),
    });
    parts.collect()
}
