//! Conditions of `if`.

use sluice_ir::{
    Comparison, Condition, ExpressionPart, HeaderName, Hostname, RequestTest, Variable,
};
use sluice_pattern::Subject;
use sluice_syntax::expression;

use super::filters::is_reserved_in_requests;

/// Bytes of a text that is compared.
const MAX_TEXT: usize = 1000;

/// The condition of an `if`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum If {
    /// A part of the request: it holds where all conditions of one of the first lists do, and does not where all of one of the
    /// others do.
    Request {
        holds: Vec<Vec<Condition>>,
        fails: Vec<Vec<Condition>>,
    },
    /// A variable of the snippet's own.
    Flag { name: String, test: FlagTest },
}

/// Comparison of a variable of the snippet's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlagTest {
    /// `None`: it is neither empty nor `0`.
    equals: Option<String>,
    negated: bool,
}

impl FlagTest {
    pub(super) fn holds(&self, value: &str) -> bool {
        let is_so = match &self.equals {
            Some(text) => value == text,
            None => !matches!(value, "" | "0"),
        };
        is_so != self.negated
    }
}

/// Reads the words after `if`. `is_flag`: the snippet has set this variable.
pub(super) fn read(words: &[&str], is_flag: impl Fn(&str) -> bool) -> Option<If> {
    let words = without_brackets(words)?;
    let (variable, operation) = words.split_first()?;
    let variable = variable.strip_prefix('$')?;
    if is_flag(variable) {
        let (equals, negated) = match operation {
            [] => (None, false),
            ["=", text] => (Some(literal(text)?), false),
            ["!=", text] => (Some(literal(text)?), true),
            _ => return None,
        };
        let name = variable.to_owned();
        return Some(If::Flag {
            name,
            test: FlagTest { equals, negated },
        });
    }
    let (comparison, negated) = match operation {
        [] => return is_set(variable),
        ["=", text] => (Comparison::Equals(literal(text)?), false),
        ["!=", text] => (Comparison::Equals(literal(text)?), true),
        ["~", pattern] => (matches(pattern)?, false),
        ["!~", pattern] => (matches(pattern)?, true),
        ["~*", pattern] => (matches_in_any_case(pattern)?, false),
        ["!~*", pattern] => (matches_in_any_case(pattern)?, true),
        _ => return None,
    };
    let test = test(variable, comparison)?;
    let condition = |negated| {
        let test = test.clone();
        vec![vec![Condition { test, negated }]]
    };
    Some(If::Request {
        holds: condition(negated),
        fails: condition(!negated),
    })
}

/// `if ($http_a)`: it is neither empty nor `0`.
fn is_set(variable: &str) -> Option<If> {
    let equals = |text: &str| test(variable, Comparison::Equals(text.to_owned()));
    let tests = [equals("")?, equals("0")?];
    let condition = |test: &RequestTest, negated| Condition {
        test: test.clone(),
        negated,
    };
    Some(If::Request {
        holds: vec![tests.iter().map(|test| condition(test, true)).collect()],
        fails: tests
            .iter()
            .map(|test| vec![condition(test, false)])
            .collect(),
    })
}

/// nginx takes the brackets alone and as parts of words.
fn without_brackets<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut words = words.to_vec();
    let first = words.first_mut()?;
    *first = first.strip_prefix('(')?;
    let last = words.last_mut()?;
    *last = last.strip_suffix(')')?;
    if words.first().is_some_and(|first| first.is_empty()) {
        words.remove(0);
    }
    if words.last().is_some_and(|last| last.is_empty()) {
        words.pop();
    }
    Some(words)
}

/// A text without variables.
pub(super) fn literal(text: &str) -> Option<String> {
    let is_plain = !text.contains('$') && !text.chars().any(char::is_control);
    (is_plain && text.len() <= MAX_TEXT).then(|| text.to_owned())
}

fn matches(pattern: &str) -> Option<Comparison> {
    sluice_pattern::check(pattern, Subject::Text).ok()?;
    Some(Comparison::Matches(pattern.to_owned()))
}

fn matches_in_any_case(pattern: &str) -> Option<Comparison> {
    sluice_pattern::check(pattern, Subject::TextInAnyCase).ok()?;
    Some(Comparison::MatchesIgnoreCase(pattern.to_owned()))
}

/// Comparison of a variable that every data plane can compare so.
fn test(variable: &str, comparison: Comparison) -> Option<RequestTest> {
    let known = expression::parse(&format!("${{{variable}}}")).ok()?;
    let [ExpressionPart::Variable(variable)] = known.0.as_slice() else {
        return None;
    };
    Some(match (variable, comparison) {
        // nginx has it in lower case.
        (Variable::Host, Comparison::Equals(host)) => {
            let name = Hostname::parse(&host).ok()?;
            (name.as_str() == host).then_some(RequestTest::Host(name))?
        }
        (Variable::Path, Comparison::Equals(path)) if path.starts_with('/') => {
            RequestTest::Path(path)
        }
        (Variable::Cookie(name), Comparison::Equals(value)) => {
            let name = name.clone();
            RequestTest::Cookie { name, value }
        }
        (Variable::Scheme, comparison) => RequestTest::Scheme(comparison),
        (Variable::Method, comparison) => RequestTest::Method(comparison),
        (Variable::RequestUri, comparison) => RequestTest::RequestUri(comparison),
        (Variable::Header(name), value) => {
            let name = HeaderName::parse(name).ok()?;
            (!is_reserved_in_requests(&name)).then_some(RequestTest::Header { name, value })?
        }
        _ => return None,
    })
}
