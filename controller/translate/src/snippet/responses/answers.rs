//! `return`: what it answers.

use sluice_ir::{Condition, Expression, ResponseContent};
use sluice_syntax::expression;

use super::{MAX_RESPONSES, NO_RESPONSE, Responses};
use crate::snippet::branch::{Branch, on_ways};
use crate::snippet::captures::Captures;
use crate::snippet::conditions::FlagTest;
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::flags::{self, Expanded, VariableValue};
use crate::snippet::host_groups::HostGroups;
use crate::snippet::tree::Directive;

/// Bytes of a text to send. nginx reads words of 4096, and Envoy sends as many.
const MAX_BODY: usize = 3500;
/// Status of what is not known.
const CLOSED: u16 = 503;

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

    /// `set`: with groups of the host, the branches of each.
    pub(super) fn set(
        &self,
        name: &str,
        value: &str,
        branches: Vec<Branch>,
    ) -> Option<Vec<Branch>> {
        let Some(of_hosts) = self.groups_of_hosts(&[value]) else {
            let captures = self.captures.as_ref();
            let set = |branch: Branch| branch.set(name, value, captures);
            return branches.into_iter().map(set).collect();
        };
        let groups = self.host_groups.as_ref()?;
        let of_all = [groups.condition().clone()];
        let branches: Vec<_> = branches.iter().map(|it| it.without(&of_all)).collect();
        let mut all = Vec::new();
        for (host, words) in of_hosts {
            for branch in on_ways(&branches, &[vec![host]]) {
                all.push(branch.set(name, &words.concat(), None)?);
            }
        }
        // Another Ingress may give the host more names.
        for mut branch in on_ways(&branches, &[groups.others()]) {
            branch.flags.insert(name.to_owned(), VariableValue::Unknown);
            all.push(branch);
        }
        Some(all)
    }

    /// The branches with a value of a variable on each: one without is empty to nginx, where its operator or another snippet has not
    /// set it.
    pub(super) fn with_value(
        &mut self,
        name: &str,
        mut branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, SnippetError> {
        let Some(line) = self.flags.get(name) else {
            return Ok(branches);
        };
        for branch in &mut branches {
            if branch.flags.contains_key(name) {
                continue;
            }
            if !self.reads_unset {
                let reason = format!(
                    "variable ${name} is not always set here; begin with `set ${name} \"\";`"
                );
                return Err(SnippetError::new(*line, reason));
            }
            self.unset.insert(name.to_owned());
            let empty = VariableValue::Text(String::new());
            branch.flags.insert(name.to_owned(), empty);
        }
        Ok(branches)
    }

    /// The same of all variables in words.
    pub(super) fn with_values(
        &mut self,
        words: &[&str],
        branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, SnippetError> {
        let read = flags::read_by(words, |name| self.flags.contains_key(name));
        let mut names = read.iter();
        names.try_fold(branches, |branches, name| self.with_value(name, branches))
    }

    /// The branches on which a variable passes a test, and the others. Nobody goes on where it is not known.
    pub(super) fn partition(
        &mut self,
        name: &str,
        test: &FlagTest,
        directive: &Directive,
        branches: Vec<Branch>,
    ) -> Result<(Vec<Branch>, Vec<Branch>), SnippetErrors> {
        let (mut within, mut beside) = (Vec::new(), Vec::new());
        for branch in branches {
            match branch.flags.get(name) {
                Some(VariableValue::Text(value)) if test.holds(value) => within.push(branch),
                Some(VariableValue::Text(_)) | None => beside.push(branch),
                Some(VariableValue::Groups(..)) => return Err(directive.unsupported().into()),
                Some(VariableValue::Unknown) => {
                    self.respond(directive, &[branch], CLOSED, &ResponseContent::Page)?;
                }
            }
        }
        Ok((within, beside))
    }

    /// `return` on branches.
    pub(super) fn return_to(
        &mut self,
        words: &[&str],
        directive: &Directive,
        mut branches: Vec<Branch>,
    ) -> Result<(), SnippetErrors> {
        let read = flags::read_by(words, |name| self.flags.contains_key(name));
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
            let expanded = flags::expanded(words, &branch.flags, captures.as_ref());
            let (words, captures) = match expanded.ok_or_else(|| directive.unsupported())? {
                Expanded::Unknown => {
                    self.respond(directive, &[branch], CLOSED, &ResponseContent::Page)?;
                    continue;
                }
                Expanded::Words(words, of_flags) => (words, of_flags.map(|it| *it).or(captures)),
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

    /// The words of `return` with groups of the host, for each.
    fn groups_of_hosts(&self, words: &[&str]) -> Option<Vec<(Condition, Vec<String>)>> {
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
