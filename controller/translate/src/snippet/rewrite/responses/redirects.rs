//! `rewrite` that redirects.
//!
//! ```text
//!   rewrite PATTERN URL permanent;     if ($uri ~ PATTERN) { return 301 URL$is_args$args; }
//!   rewrite PATTERN URL? permanent;    if ($uri ~ PATTERN) { return 301 URL; }
//! ```
//!
//! That is the same, but for the pattern itself: where it does not match, nginx goes on.

use sluice_ir::ResponseContent;
use sluice_pattern::Subject;

use super::Responses;
use crate::snippet::error::SnippetErrors;
use crate::snippet::rewrite::branch::{Branch, on_ways};
use crate::snippet::rewrite::captures::Captures;
use crate::snippet::rewrite::conditions;
use crate::snippet::rewrite::rewrites::Redirect;
use crate::snippet::rewrite::wrong_pattern;
use crate::snippet::syntax::tree::Directive;

/// It matches every path.
const ALWAYS: &str = "^";
const OTHER_TARGET: &str = "its target has to be a URL or a path of text, `$scheme`, `$host`, `$request_uri` and the pattern's groups, which has the groups in \
                            its path alone, and a slash before them (`https://HOST/$1`, or `https://HOST$1` for `^(.*)$`)";
const TOO_LARGE: &str = "its pattern is too large for Envoy";

impl Responses<'_> {
    /// The branches that go on behind `rewrite`.
    pub(super) fn rewrite(
        &mut self,
        words: &[&str],
        directive: &Directive,
        branches: Vec<Branch>,
    ) -> Result<Vec<Branch>, SnippetErrors> {
        let redirect = Redirect::read(words).ok_or_else(|| directive.unsupported())?;
        match redirect.rewritten() {
            Some(content) => self.respond(directive, &branches, redirect.status, &content)?,
            None => {
                let returned = self.returned(&redirect, &branches);
                let (branches, content) =
                    returned.map_err(|why| directive.unsupported_for(&why))?;
                self.respond(directive, &branches, redirect.status, &content)?;
            }
        }
        (self.captures, self.host_groups) = (None, None);
        // Where the pattern does not match, nginx goes on.
        Ok(branches)
    }

    /// The same as `return` in an `if`. The error: why it is not served.
    fn returned(
        &self,
        redirect: &Redirect<'_>,
        branches: &[Branch],
    ) -> Result<(Vec<Branch>, ResponseContent), String> {
        let pattern = sluice_pattern::with_flags_in_groups(redirect.pattern);
        // As that of an `if`, also in the words of its error.
        sluice_pattern::check(&pattern, Subject::Text)
            .and_then(|_| sluice_pattern::check(&pattern, Subject::InPath))
            .map_err(|it| wrong_pattern::not_shared(&it))?;
        let url = redirect.url()?;
        let condition = conditions::of_path(redirect.pattern, self.comparable).ok_or(TOO_LARGE)?;
        let ways = [vec![condition]];
        let captures = Captures::new(&ways);
        let words = [&*redirect.status.to_string(), &*url];
        let answer = self.answer(&words, captures.as_ref());
        let (_, content) = answer.ok_or(OTHER_TARGET)?;
        let branches = match redirect.pattern {
            ALWAYS => branches.to_vec(),
            _ => on_ways(branches, &ways),
        };
        Ok((branches, content))
    }
}
