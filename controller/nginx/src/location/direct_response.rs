//! Direct responses of a location: `return`, within `if` where there are conditions.

use sluice_ir::{
    CaptureSubject, CapturedRedirect, Comparison, Condition, DirectResponse, Expression,
    GlobalConfig, HttpRoute, Policy, RefusalPage, RequestTest, ResponseContent, Variable,
};
use sluice_pattern::Subject;

use crate::conf::{Value, Word, value, word};
use crate::expression::{body, expression, name_of};
use crate::location::response_headers::{AddedLine, ResponseHeaders};
use crate::location::{matching, redirect};

/// `return` of a location.
pub(crate) struct DirectResponses {
    /// Type of all texts.
    pub(crate) media_type: Option<Value>,
    /// Scheme and host, where one of them rewrites.
    pub(crate) here: Option<Value>,
    /// Scheme, where one of them has groups of a condition.
    pub(crate) scheme: Option<Value>,
    /// Those before the answer to a preflight.
    pub(crate) first: Vec<Return>,
    pub(crate) responses: Vec<Return>,
}

/// One `return`.
pub(crate) struct Return {
    pub(crate) conditions: Vec<If>,
    /// The flags of all conditions, one for each.
    pub(crate) all: String,
    pub(crate) status: u16,
    /// Headers in place of the location's; none: the location's.
    pub(crate) headers: Vec<AddedLine>,
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
        DirectResponses::beside(&route.direct_responses, &route.policy, global)
    }

    /// To clients that are refused for their certificate.
    pub(crate) fn to_refused(page: &RefusalPage, global: &GlobalConfig) -> Self {
        let response = match page {
            RefusalPage::Url(url) => &DirectResponse {
                conditions: Vec::new(),
                status: 302,
                precedes_preflight: false,
                of_operator: false,
                content: ResponseContent::Location(Expression::literal(url)),
                headers: None,
            },
            RefusalPage::Response(response) => response.as_ref(),
        };
        DirectResponses::beside(std::slice::from_ref(response), &Policy::default(), global)
    }

    fn beside(direct: &[DirectResponse], policy: &Policy, global: &GlobalConfig) -> Self {
        let mut contents = direct.iter().map(|direct| &direct.content);
        let rewrites = contents.any(|it| matches!(it, ResponseContent::Rewritten { .. }));
        let (first, responses): (Vec<_>, Vec<_>) =
            direct.iter().partition(|direct| direct.precedes_preflight);
        let returns = |all: Vec<&DirectResponse>| {
            let all = all.into_iter();
            all.map(|direct| Return::new(direct, policy, global))
                .collect()
        };
        DirectResponses {
            media_type: media_types(direct).next().map(value),
            here: rewrites.then(redirect::here_value),
            scheme: captures(direct).then(redirect::scheme_value),
            first: returns(first),
            responses: returns(responses),
        }
    }

    /// True if nginx can read it.
    pub(crate) fn fits(&self) -> bool {
        self.first.iter().chain(&self.responses).all(Return::fits)
    }
}

/// Types of the texts; nginx has one for a location.
pub(crate) fn media_types(direct: &[DirectResponse]) -> impl Iterator<Item = &str> {
    direct.iter().filter_map(|direct| match &direct.content {
        ResponseContent::Text { media_type, .. } => Some(media_type.as_str()),
        ResponseContent::Page
        | ResponseContent::Location(_)
        | ResponseContent::Rewritten { .. }
        | ResponseContent::Captured(_) => None,
    })
}

/// True if one of them has groups of a condition.
fn captures(direct: &[DirectResponse]) -> bool {
    let mut contents = direct.iter().map(|direct| &direct.content);
    contents.any(|content| matches!(content, ResponseContent::Captured(_)))
}

/// True if one of them has groups of the path, and a status that nginx has no word for.
pub(crate) fn has_no_word(direct: &[DirectResponse]) -> bool {
    direct.iter().any(|direct| match &direct.content {
        ResponseContent::Captured(captured) => {
            captured.of == CaptureSubject::Path && !matches!(direct.status, 301 | 302)
        }
        _ => false,
    })
}

impl Return {
    fn new(direct: &DirectResponse, policy: &Policy, global: &GlobalConfig) -> Self {
        let text = match &direct.content {
            ResponseContent::Page => None,
            ResponseContent::Text { text, .. } => Some(body(text).quoted()),
            ResponseContent::Location(url) => Some(expression(url).quoted()),
            ResponseContent::Rewritten { to, .. } => Some(redirect::rewritten(to)),
            ResponseContent::Captured(captured) => Some(redirect::captured(captured)),
        };
        let pattern = match &direct.content {
            ResponseContent::Rewritten { regex, .. } => Some(word(matching::pattern(regex))),
            // Only `rewrite` encodes what is decoded, and it compares by itself.
            ResponseContent::Captured(captured) if captured.of == CaptureSubject::Path => {
                Some(operand(&captured.value).1)
            }
            _ => None,
        };
        let headers = own_headers(direct, policy, global);
        let mut conditions: Vec<If> = direct.conditions.iter().map(If::new).collect();
        // The last pattern that nginx compares is the one whose groups there are.
        let target = captured(direct).filter(|it| it.of == CaptureSubject::RequestUri);
        conditions.extend(target.map(|it| If::new(&it.condition())));
        // `rewrite` compares the pattern, but headers of a block are those of whoever is in it.
        let compared = captured(direct).filter(|it| it.of == CaptureSubject::Path);
        let compared = compared.filter(|_| !headers.is_empty());
        conditions.extend(compared.map(|it| If::new(&it.condition())));
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
        let names = self.headers.iter().map(|line| &line.name);
        let words = operands
            .chain(&self.pattern)
            .chain(names)
            .map(|word| &word.0);
        let values = self.headers.iter().map(|line| &line.value);
        words
            .chain(self.text.iter().chain(values).map(|text| &text.0))
            .all(|word| word.fits())
    }
}

fn captured(direct: &DirectResponse) -> Option<&CapturedRedirect> {
    match &direct.content {
        ResponseContent::Captured(captured) => Some(captured),
        _ => None,
    }
}

fn own_headers(direct: &DirectResponse, policy: &Policy, global: &GlobalConfig) -> Vec<AddedLine> {
    let Some(own) = &direct.headers else {
        return Vec::new();
    };
    let headers = ResponseHeaders::for_response(own, policy, global);
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

    pub(crate) fn new(condition: &Condition) -> Self {
        let equals = |text: &str| (false, value(text));
        let variable = |variable| name_of(&variable);
        let (variable, (is_pattern, operand)) = match &condition.test {
            RequestTest::Host(comparison) => (variable(Variable::Hostname), operand(comparison)),
            RequestTest::Path(comparison) => ("uri".to_owned(), operand(comparison)),
            RequestTest::Query(comparison) => ("args".to_owned(), operand(comparison)),
            RequestTest::Argument { name, value } => {
                (variable(Variable::Argument(name.clone())), operand(value))
            }
            RequestTest::Cookie { name, value } => {
                (variable(Variable::Cookie(name.clone())), equals(value))
            }
            RequestTest::RemoteAddress(comparison) => {
                (variable(Variable::RemoteAddress), operand(comparison))
            }
            // Whatever a client says of it.
            RequestTest::Scheme(comparison) => ("scheme".to_owned(), operand(comparison)),
            RequestTest::Method(comparison) => (variable(Variable::Method), operand(comparison)),
            RequestTest::RequestUri(comparison) => {
                (variable(Variable::RequestUri), operand(comparison))
            }
            RequestTest::Header { name, value } => {
                let name = name.as_str().to_ascii_lowercase();
                (variable(Variable::Header(name)), operand(value))
            }
        };
        let operator = match (is_pattern, condition.negated) {
            (false, false) => "=",
            (false, true) => "!=",
            (true, false) => "~",
            (true, true) => "!~",
        };
        If {
            variable,
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
