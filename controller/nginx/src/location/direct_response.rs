//! Direct responses of a location: `return`, within `if` where there are conditions.

use std::collections::BTreeMap;

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
    /// Type of texts, but for those of extensions.
    pub(crate) media_type: Option<Value>,
    /// Extensions of paths, and types of texts for them: nginx has one other type in a location.
    pub(crate) types: Vec<(Word, Value)>,
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
        // Where there are none, the location is closed.
        let types = TextTypes::of(direct).unwrap_or_default();
        DirectResponses {
            media_type: types.default.map(value),
            types: types
                .by_extension
                .into_iter()
                .map(|(extension, media_type)| (word(extension), value(media_type)))
                .collect(),
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

/// Types of the texts of a location.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TextTypes<'a> {
    default: Option<&'a str>,
    by_extension: BTreeMap<String, &'a str>,
}

impl<'a> TextTypes<'a> {
    /// `None`: nginx has no words for them, as it tells texts of a location by the extension of the path alone.
    pub(crate) fn of(direct: &'a [DirectResponse]) -> Option<Self> {
        let texts = direct.iter().filter_map(|direct| match &direct.content {
            ResponseContent::Text { media_type, .. } => {
                Some((direct.extension(), media_type.as_str()))
            }
            ResponseContent::Page
            | ResponseContent::Location(_)
            | ResponseContent::Rewritten { .. }
            | ResponseContent::Captured(_) => None,
        });
        let texts: Vec<_> = texts.collect();
        let Some((_, first)) = texts.first().cloned() else {
            return Some(TextTypes::default());
        };
        if texts.iter().all(|(_, media_type)| *media_type == first) {
            return Some(TextTypes {
                default: Some(first),
                by_extension: BTreeMap::new(),
            });
        }
        let mut others = texts.iter().filter(|(extension, _)| extension.is_none());
        let default = others.next().map_or(first, |(_, media_type)| *media_type);
        if others.any(|(_, media_type)| *media_type != default) {
            return None;
        }
        let mut by_extension = BTreeMap::new();
        for (extension, media_type) in texts {
            let Some(extension) = extension else { continue };
            let before = by_extension.insert(extension, media_type);
            if before.is_some_and(|before| before != media_type) {
                return None;
            }
        }
        Some(TextTypes {
            default: Some(default),
            by_extension,
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A text for one path, or for all others.
    fn text(path: Option<&str>, media_type: &str) -> DirectResponse {
        let conditions = path.map(|path| Condition {
            test: RequestTest::Path(Comparison::Equals(path.to_owned())),
            negated: false,
        });
        DirectResponse {
            conditions: conditions.into_iter().collect(),
            status: 200,
            precedes_preflight: false,
            of_operator: false,
            content: ResponseContent::Text {
                media_type: media_type.to_owned(),
                text: Expression::literal("a"),
            },
            headers: None,
        }
    }

    #[test]
    fn texts_of_a_location_have_the_types_that_nginx_tells_by_extensions() {
        let robots = || text(Some("/robots.txt"), "text/plain");
        let map = |texts: &[DirectResponse]| {
            let types = TextTypes::of(texts)?;
            let by_extension: Vec<_> = types.by_extension.into_iter().collect();
            let shown = by_extension
                .iter()
                .map(|(extension, of)| format!(" {extension}={of}"));
            Some(types.default.unwrap_or_default().to_owned() + &shown.collect::<String>())
        };
        for (texts, expected) in [
            (vec![], Some("")),
            (vec![robots()], Some("text/plain")),
            (
                vec![robots(), text(None, "text/html")],
                Some("text/html txt=text/plain"),
            ),
            (
                vec![robots(), text(Some("/a.xml"), "text/xml")],
                Some("text/plain txt=text/plain xml=text/xml"),
            ),
            (vec![robots(), text(Some("/b.txt"), "text/a")], None),
            (vec![text(None, "text/a"), text(Some("/a"), "text/b")], None),
        ] {
            assert_eq!(map(&texts).as_deref(), expected, "{texts:?}");
        }
    }
}
