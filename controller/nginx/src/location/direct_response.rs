//! Direct responses of a location: `return`, within `if` where there are conditions.

use sluice_ir::{
    Comparison, Condition, DirectResponse, GlobalConfig, HttpRoute, RequestTest, ResponseContent,
    Variable,
};
use sluice_pattern::Subject;

use crate::conf::{Value, Word, body, value, word};
use crate::expression::{expression, name_of};
use crate::location::headers::{Line, ResponseHeaders};
use crate::location::{matching, redirect};

/// `return` of a location.
pub(crate) struct DirectResponses {
    /// Type of all texts.
    pub(crate) media_type: Option<Value>,
    /// Scheme and host, where one of them rewrites.
    pub(crate) here: Option<Value>,
    pub(crate) responses: Vec<Return>,
}

/// One `return`.
pub(crate) struct Return {
    pub(crate) conditions: Vec<If>,
    /// The flags of all conditions, one for each.
    pub(crate) all: String,
    pub(crate) status: u16,
    /// Headers in place of the location's; none: the location's.
    pub(crate) headers: Vec<Line>,
    /// Body, or the URL of a redirect.
    pub(crate) text: Option<Value>,
    /// Pattern of `rewrite` in place of `return`, which redirects to the text.
    pub(crate) pattern: Option<Word>,
}

/// The condition of `if`.
pub(crate) struct If {
    pub(crate) variable: String,
    pub(crate) operator: &'static str,
    pub(crate) operand: Word,
}

impl DirectResponses {
    pub(crate) fn new(route: &HttpRoute, global: &GlobalConfig) -> Self {
        let direct = &route.direct_responses;
        let mut contents = direct.iter().map(|direct| &direct.content);
        let rewrites = contents.any(|it| matches!(it, ResponseContent::Rewritten { .. }));
        DirectResponses {
            media_type: media_types(direct).next().map(value),
            here: rewrites.then(redirect::here_value),
            responses: direct
                .iter()
                .map(|direct| Return::new(direct, route, global))
                .collect(),
        }
    }

    /// True if nginx can read it.
    pub(crate) fn fits(&self) -> bool {
        self.responses.iter().all(Return::fits)
    }
}

/// Types of the texts; nginx has one for a location.
pub(crate) fn media_types(direct: &[DirectResponse]) -> impl Iterator<Item = &str> {
    direct.iter().filter_map(|direct| match &direct.content {
        ResponseContent::Text { media_type, .. } => Some(media_type.as_str()),
        ResponseContent::Page
        | ResponseContent::Location(_)
        | ResponseContent::Rewritten { .. } => None,
    })
}

impl Return {
    fn new(direct: &DirectResponse, route: &HttpRoute, global: &GlobalConfig) -> Self {
        let text = match &direct.content {
            ResponseContent::Page => None,
            ResponseContent::Text { text, .. } => Some(body(text)),
            ResponseContent::Location(url) => Some(expression(url).quoted()),
            ResponseContent::Rewritten { to, .. } => Some(redirect::rewritten(to)),
        };
        let pattern = match &direct.content {
            ResponseContent::Rewritten { regex, .. } => Some(word(matching::pattern(regex))),
            _ => None,
        };
        let headers = own_headers(direct, route, global);
        let mut conditions: Vec<If> = direct.conditions.iter().map(If::new).collect();
        if conditions.is_empty() && !headers.is_empty() {
            // They are headers of this response alone.
            conditions.push(If::always());
        }
        Return {
            all: "1".repeat(conditions.len()),
            conditions,
            status: direct.status,
            headers,
            text,
            pattern,
        }
    }

    /// `rewrite`'s word for the status.
    pub(crate) fn flag(&self) -> &'static str {
        redirect::flag(self.status)
    }

    fn fits(&self) -> bool {
        let operands = self.conditions.iter().map(|condition| &condition.operand);
        let names = self.headers.iter().map(|(name, _)| name);
        let words = operands
            .chain(&self.pattern)
            .chain(names)
            .map(|word| &word.0);
        let values = self.headers.iter().map(|(_, value)| value);
        words
            .chain(self.text.iter().chain(values).map(|text| &text.0))
            .all(|word| word.fits())
    }
}

fn own_headers(direct: &DirectResponse, route: &HttpRoute, global: &GlobalConfig) -> Vec<Line> {
    let Some(own) = &direct.headers else {
        return Vec::new();
    };
    let headers = ResponseHeaders::for_response(own, &route.policy, global);
    headers.map(|headers| headers.lines).unwrap_or_default()
}

impl If {
    /// Holds for every request.
    fn always() -> Self {
        If {
            variable: name_of(&Variable::Method),
            operator: "!=",
            operand: value(""),
        }
    }

    fn new(condition: &Condition) -> Self {
        let equals = |text: &str| (false, value(text));
        let (variable, (is_pattern, operand)) = match &condition.test {
            RequestTest::Host(host) => (Variable::Hostname, equals(host.as_str())),
            RequestTest::Path(path) => (Variable::Path, equals(path)),
            RequestTest::Cookie { name, value } => (Variable::Cookie(name.clone()), equals(value)),
            RequestTest::Scheme(comparison) => (Variable::Scheme, operand(comparison)),
            RequestTest::Method(comparison) => (Variable::Method, operand(comparison)),
            RequestTest::RequestUri(comparison) => (Variable::RequestUri, operand(comparison)),
            RequestTest::Header { name, value } => {
                let name = name.as_str().to_ascii_lowercase();
                (Variable::Header(name), operand(value))
            }
        };
        let operator = match (is_pattern, condition.negated) {
            (false, false) => "=",
            (false, true) => "!=",
            (true, false) => "~",
            (true, true) => "!~",
        };
        If {
            variable: match variable {
                Variable::Path => "uri".to_owned(),
                // Whatever a client says of it.
                Variable::Scheme => "scheme".to_owned(),
                variable => name_of(&variable),
            },
            operator,
            operand,
        }
    }
}

/// The other side of a comparison, and whether it is a pattern.
fn operand(comparison: &Comparison) -> (bool, Word) {
    let found = |pattern, subject| word(sluice_pattern::pcre(pattern, subject, false));
    match comparison {
        Comparison::Equals(text) => (false, value(text)),
        Comparison::Matches(pattern) => (true, found(pattern, Subject::Text)),
        Comparison::MatchesIgnoreCase(pattern) => (true, found(pattern, Subject::TextInAnyCase)),
    }
}
