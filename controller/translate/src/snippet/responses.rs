//! `set`, `if` and `return` as direct responses.
//!
//! nginx runs these directives one after the other, before it asks who may come in. Here all ways through them are followed at
//! once: each branch is what a request has shown to be on it, and what the snippet's own variables are then. A `return` ends its
//! branches, each with a response.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Condition, DirectResponse, Expression, ExpressionPart, ResponseContent, Variable};
use sluice_syntax::expression;
use sluice_syntax::variables::{Segment, segments};

use super::conditions::{self, If, literal};
use super::tree::Directive;

/// Ways through one snippet.
const MAX_BRANCHES: usize = 16;
/// Responses of one snippet.
const MAX_RESPONSES: usize = 32;
/// Conditions of one response.
const MAX_CONDITIONS: usize = 8;
/// Bytes of a text: Envoy takes up to 4096.
const MAX_TEXT: usize = 3000;
/// nginx closes the connection.
const NO_RESPONSE: u16 = 444;

/// Responses of a snippet, in the making.
#[derive(Clone, Debug)]
pub(super) struct Responses {
    media_type: String,
    /// Variables that were set so far, on whatever branch.
    flags: BTreeSet<String>,
    /// Those that `if` has asked for.
    asked: BTreeSet<String>,
    branches: Vec<Branch>,
    responses: Vec<DirectResponse>,
}

/// Requests that are treated alike so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Branch {
    conditions: Vec<Condition>,
    flags: BTreeMap<String, String>,
}

impl Responses {
    /// `media_type`: the type of texts.
    pub(super) fn new(media_type: &str) -> Self {
        Responses {
            media_type: media_type.to_owned(),
            flags: BTreeSet::new(),
            asked: BTreeSet::new(),
            branches: vec![Branch::default()],
            responses: Vec::new(),
        }
    }

    /// The responses. `None`: a variable is set that nothing here asks for, so something else in nginx may.
    pub(super) fn finish(self) -> Option<Vec<DirectResponse>> {
        self.flags.is_subset(&self.asked).then_some(self.responses)
    }

    /// Takes one directive; the line of the first that cannot be taken otherwise.
    pub(super) fn add(&mut self, directive: &Directive) -> Result<(), usize> {
        let branches = std::mem::take(&mut self.branches);
        self.branches = self.run(directive, branches)?;
        let is_too_much =
            self.branches.len() > MAX_BRANCHES || self.responses.len() > MAX_RESPONSES;
        if is_too_much {
            Err(directive.line)
        } else {
            Ok(())
        }
    }

    /// The branches that go on behind a directive.
    fn run(&mut self, directive: &Directive, branches: Vec<Branch>) -> Result<Vec<Branch>, usize> {
        let line = directive.line;
        match (directive.words().as_slice(), &directive.block) {
            (["set", variable, value], None) => {
                let name = flag_name(variable).ok_or(line)?;
                self.flags.insert(name.to_owned());
                let set = |branch: Branch| branch.set(name, value, &self.flags).ok_or(line);
                branches.into_iter().map(set).collect()
            }
            (["return", words @ ..], None) => {
                let (status, content) = self.answer(words).ok_or(line)?;
                for Branch { conditions, .. } in branches {
                    if conditions.len() > MAX_CONDITIONS {
                        return Err(line);
                    }
                    let content = content.clone();
                    self.responses.push(DirectResponse {
                        conditions,
                        status,
                        content,
                    });
                }
                Ok(Vec::new())
            }
            (["if", words @ ..], Some(block)) => self.run_if(words, block, line, branches),
            _ => Err(line),
        }
    }

    fn run_if(
        &mut self,
        words: &[&str],
        block: &[Directive],
        line: usize,
        branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, usize> {
        let is_flag = |name: &str| self.flags.contains(name);
        match conditions::read(words, is_flag).ok_or(line)? {
            If::Flag { name, test } => {
                let (within, beside) = branches
                    .into_iter()
                    .partition(|branch| test.holds(branch.flag(&name)));
                self.asked.insert(name);
                let within = self.run_block(block, within, line)?;
                Ok([within, beside].concat())
            }
            If::Request { holds, fails } => {
                let within = self.run_block(block, on_ways(&branches, &holds), line)?;
                if within.is_empty() {
                    // Whoever is in the block has a response, which comes before all that follow.
                    return Ok(branches);
                }
                Ok([within, on_ways(&branches, &fails)].concat())
            }
        }
    }

    fn run_block(
        &mut self,
        block: &[Directive],
        mut branches: Vec<Branch>,
        line: usize,
    ) -> Result<Vec<Branch>, usize> {
        for directive in block {
            if branches.len() > MAX_BRANCHES {
                return Err(line);
            }
            branches = self.run(directive, branches)?;
        }
        Ok(branches)
    }

    /// Status and content of `return`.
    fn answer(&self, words: &[&str]) -> Option<(u16, ResponseContent)> {
        let (status, text) = match words {
            [url] if !url.starts_with(|c: char| c.is_ascii_digit()) => (302, Some(*url)),
            [status] => (status.parse().ok()?, None),
            [status, text] => (status.parse().ok()?, Some(*text)),
            _ => return None,
        };
        let content = match (status, text) {
            (NO_RESPONSE, Some(_)) => return None,
            (200..=599, None) => ResponseContent::Page,
            (301..=303 | 307 | 308, Some(url)) => ResponseContent::Location(self::url(url)?),
            (200..=599, Some(text)) => ResponseContent::Text {
                media_type: self.media_type.clone(),
                text: literal(text).filter(|text| text.len() <= MAX_TEXT)?,
            },
            _ => return None,
        };
        Some((status, content))
    }
}

impl Branch {
    /// A variable that was not set is empty.
    fn flag(&self, name: &str) -> &str {
        self.flags.get(name).map_or("", String::as_str)
    }

    /// `set $flag "${flag}1"`: texts, and variables that the snippet has set.
    fn set(mut self, name: &str, value: &str, flags: &BTreeSet<String>) -> Option<Branch> {
        let parts = segments(value).map(|segment| match segment {
            Segment::Text(text) => Some(text),
            Segment::Variable { name, .. } => flags.contains(name).then(|| self.flag(name)),
            Segment::Dollar => None,
        });
        let value: String = parts.collect::<Option<_>>()?;
        self.flags.insert(name.to_owned(), literal(&value)?);
        Some(self)
    }

    /// The branch with more conditions; `None`: no request is on it.
    fn with(&self, more: &[Condition]) -> Option<Branch> {
        let mut branch = self.clone();
        for condition in more {
            let opposite = Condition {
                negated: !condition.negated,
                ..condition.clone()
            };
            if branch.conditions.contains(&opposite) {
                return None;
            }
            if !branch.conditions.contains(condition) {
                branch.conditions.push(condition.clone());
            }
        }
        Some(branch)
    }
}

/// Each branch with the conditions of each way.
fn on_ways(branches: &[Branch], ways: &[Vec<Condition>]) -> Vec<Branch> {
    let of_way = |way: &Vec<Condition>| -> Vec<Branch> {
        let more = branches.iter().filter_map(|branch| branch.with(way));
        more.collect()
    };
    ways.iter().flat_map(of_way).collect()
}

/// The name of a variable of the snippet's own: one of nginx's would mean something else once it is set.
fn flag_name(variable: &str) -> Option<&str> {
    let name = variable.strip_prefix('$')?;
    expression::parse(&format!("${{{name}}}"))
        .is_err()
        .then_some(name)
}

/// Target of a redirect. A path is one of the same host.
fn url(text: &str) -> Option<Expression> {
    let written = if text.starts_with('/') {
        format!("$scheme://$host{text}")
    } else {
        text.to_owned()
    };
    let has_scheme = ["http://", "https://", "$scheme://"];
    if !has_scheme.iter().any(|scheme| written.starts_with(scheme)) {
        return None;
    }
    let Expression(parts) = expression::for_headers(&written).ok()?;
    // A path that is decoded may have ends of lines in it.
    let part = |part| match part {
        ExpressionPart::Variable(Variable::Host) => {
            Some(ExpressionPart::Variable(Variable::Hostname))
        }
        ExpressionPart::Text(_)
        | ExpressionPart::Variable(Variable::Scheme | Variable::RequestUri) => Some(part),
        ExpressionPart::Variable(_) => None,
    };
    let parts = parts.into_iter().map(part).collect::<Option<_>>()?;
    Some(Expression(parts))
}

#[cfg(test)]
mod tests;
