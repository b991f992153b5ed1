//! `return`: what it answers.

use sluice_ir::{Condition, ResponseContent};
use sluice_syntax::expression;

use super::{MAX_RESPONSES, NO_RESPONSE, Responses};
use crate::snippet::branch::{Branch, on_ways};
use crate::snippet::captures::Captures;
use crate::snippet::error::SnippetErrors;
use crate::snippet::host_groups::HostGroups;
use crate::snippet::tree::Directive;

/// Bytes of a text to send. nginx reads words of 4096, and Envoy sends as many.
const MAX_BODY: usize = 3500;
/// Status of what is not known.
const CLOSED: u16 = 503;

impl Responses<'_> {
    /// Status and content of `return`.
    pub(super) fn answer(&self, words: &[&str]) -> Option<(u16, ResponseContent)> {
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
                let captured = self.captures.as_ref().and_then(captured);
                let plain = || expression::for_redirects(url).ok();
                captured.or_else(|| plain().map(ResponseContent::Location))?
            }
            (200..=599, Some(text)) => ResponseContent::Text {
                media_type: self.media_types.of(status).to_owned(),
                text: body(text)?,
            },
            _ => return None,
        };
        Some((status, content))
    }

    /// The words of `return` with groups of the host, for each.
    pub(super) fn groups_of_hosts(&self, words: &[&str]) -> Option<Vec<(Condition, Vec<String>)>> {
        self.host_groups.as_ref()?.written(words)
    }

    /// `return` with groups of the host: a response for each.
    pub(super) fn respond_to_hosts(
        &mut self,
        words: &[&str],
        directive: &Directive,
        branches: &[Branch],
    ) -> Result<(), SnippetErrors> {
        let of_all = self.host_groups.as_ref().map(HostGroups::condition);
        let of_all: Vec<_> = of_all.into_iter().cloned().collect();
        for (host, words) in self.groups_of_hosts(words).into_iter().flatten() {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let answer = self.answer(&words);
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

/// A text to send, without variables.
fn body(text: &str) -> Option<String> {
    let is_line_break = |letter| matches!(letter, '\n' | '\r' | '\t');
    let mut letters = text.chars();
    let is_plain = letters.all(|c| c != '$' && (!c.is_control() || is_line_break(c)));
    // Each of these is two bytes to nginx.
    let escaped = text.bytes().filter(|byte| b"\n\r\t\"\\".contains(byte));
    (is_plain && text.len() + escaped.count() <= MAX_BODY).then(|| text.to_owned())
}
