//! `return`: what it answers.

use sluice_ir::{Condition, Expression, ResponseContent};
use sluice_syntax::expression;

use super::{CLOSED, MAX_RESPONSES, NO_RESPONSE, Responses};
use crate::snippet::error::SnippetErrors;
use crate::snippet::rewrite::branch::{Branch, on_ways};
use crate::snippet::rewrite::captures::Captures;
use crate::snippet::rewrite::host_groups::HostGroups;
use crate::snippet::rewrite::set_variables::{self, Expanded};
use crate::snippet::syntax::tree::Directive;

/// Bytes of a text to send. nginx reads words of 4096, and Envoy sends as many.
const MAX_BODY: usize = 3500;

impl Responses<'_> {
    /// Status and content of `return`. `captures`: of the groups that it has.
    pub(super) fn answer(
        &self,
        words: &[&str],
        captures: Option<&Captures>,
    ) -> Option<(u16, ResponseContent)> {
        let (status, text) = match words {
            [url] if !url.starts_with(|c: char| c.is_ascii_digit()) => (302, Some(*url)),
            [status] => (status.parse().ok()?, None),
            [status, text] => (status.parse().ok()?, Some(*text)),
            _ => return None,
        };
        let content = match (status, text) {
            (NO_RESPONSE, Some(_)) => return None,
            (200..=599, None) => ResponseContent::Page,
            (301..=303 | 307 | 308, Some(url)) => {
                let captured = |it: &Captures| it.redirect(url, self.comparable);
                let captured = captures.and_then(captured);
                let plain = || expression::for_redirects(url).ok();
                let of_path = || Captures::with_path(url, self.comparable);
                let plain = || plain().map(ResponseContent::Location);
                captured.or_else(plain).or_else(of_path)?
            }
            (200..=599, Some(text)) => ResponseContent::Text {
                media_type: self.media_types.of(status, &[]).to_owned(),
                text: body(text)?,
            },
            _ => return None,
        };
        Some((status, content))
    }

    /// The content for requests that these conditions hold for: a text has the type of their paths.
    pub(super) fn content_for(
        &self,
        conditions: &[Condition],
        status: u16,
        content: &ResponseContent,
    ) -> ResponseContent {
        match content {
            ResponseContent::Text { text, .. } => ResponseContent::Text {
                media_type: self.media_types.of(status, conditions).to_owned(),
                text: text.clone(),
            },
            other => other.clone(),
        }
    }

    /// `return` on branches.
    pub(super) fn return_to(
        &mut self,
        words: &[&str],
        directive: &Directive,
        mut branches: Vec<Branch>,
    ) -> Result<(), SnippetErrors> {
        let read = set_variables::read_by(words, |name| self.set_variables.contains_key(name));
        // What is wrong is said also where nobody gets to it.
        if branches.is_empty() && read.is_empty() && self.groups_of_hosts(words).is_none() {
            let answer = self.answer(words, self.captures.as_ref());
            answer.ok_or_else(|| self.without_groups(words, directive))?;
        }
        for name in read {
            branches = self.with_value(&name, branches)?;
            self.asked.insert(name);
        }
        let is_variable = words.first().is_some_and(|it| it.starts_with('$'));
        for branch in branches {
            let captures = self.captures.clone();
            let expanded = set_variables::expanded(words, &branch.variables, captures.as_ref());
            let (words, captures) = match expanded.ok_or_else(|| directive.unsupported())? {
                Expanded::Unknown => {
                    self.respond(directive, &[branch], CLOSED, &ResponseContent::Page)?;
                    continue;
                }
                Expanded::Words(words, of_variables) => {
                    (words, of_variables.map(|it| *it).or(captures))
                }
            };
            // To nginx a variable is no status, whatever is in it.
            let is_status = words
                .first()
                .is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
            if is_variable && is_status {
                return Err(directive.unsupported().into());
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if self.groups_of_hosts(&words).is_some() {
                self.respond_to_hosts(&words, directive, &[branch])?;
                continue;
            }
            let answer = self.answer(&words, captures.as_ref());
            let (status, content) = answer.ok_or_else(|| self.without_groups(&words, directive))?;
            self.respond(directive, &[branch], status, &content)?;
        }
        Ok(())
    }

    /// The words with groups of the host, for each.
    pub(super) fn groups_of_hosts(&self, words: &[&str]) -> Option<Vec<(Condition, Vec<String>)>> {
        self.host_groups.as_ref()?.written(words)
    }

    /// `return` with groups of the host: a response for each.
    fn respond_to_hosts(
        &mut self,
        words: &[&str],
        directive: &Directive,
        branches: &[Branch],
    ) -> Result<(), SnippetErrors> {
        let of_all = self.host_groups.as_ref().map(HostGroups::condition);
        let of_all: Vec<_> = of_all.into_iter().cloned().collect();
        for (host, words) in self.groups_of_hosts(words).into_iter().flatten() {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let answer = self.answer(&words, None);
            let (status, content) = answer.ok_or_else(|| directive.unsupported())?;
            let branches: Vec<_> = branches
                .iter()
                .map(|branch| branch.without(&of_all))
                .collect();
            self.respond(
                directive,
                &on_ways(&branches, &[vec![host]]),
                status,
                &content,
            )?;
            directive.at_most(self.responses.len(), MAX_RESPONSES, "responses")?;
        }
        // Another Ingress may give the host more names.
        self.respond(directive, branches, CLOSED, &ResponseContent::Page)?;
        Ok(())
    }
}

/// A text to send.
fn body(text: &str) -> Option<Expression> {
    /// Bytes of the longest variable as data planes have it.
    const VARIABLE: usize = 40;
    let is_line_break = |letter| matches!(letter, '\n' | '\r' | '\t');
    let mut letters = text.chars();
    let is_plain = letters.all(|c| !c.is_control() || is_line_break(c));
    // Each of these is two bytes to nginx.
    let escaped = text.bytes().filter(|byte| b"\n\r\t\"\\".contains(byte));
    let variables = text.bytes().filter(|byte| *byte == b'$').count() * VARIABLE;
    let fits = text.len() + escaped.count() + variables <= MAX_BODY;
    let body = expression::for_bodies(text).ok()?;
    (is_plain && fits).then_some(body)
}
