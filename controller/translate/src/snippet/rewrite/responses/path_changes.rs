//! `rewrite` to other paths: of a location, and of a server.

use super::Responses;
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::rewrite::rewrites::{self, MAX_PATH_CHANGES, MAX_SERVER_REWRITES, PathChange};
use crate::snippet::syntax::tree::Directive;

impl Responses<'_> {
    /// `rewrite PATTERN PATH break`, or `last`, of a location.
    pub(super) fn change_path(
        &mut self,
        change: PathChange,
        directive: &Directive,
    ) -> Result<(), SnippetErrors> {
        // nginx would run all of them again.
        let is_alone = self.path_changes.is_empty() && self.directives == 0;
        let is_behind_last = self.path_changes.iter().any(|it| it.is_last);
        if is_behind_last || change.is_last && !is_alone {
            let reason = "rewrite with last is supported only as the single if, set, return or rewrite of a snippet; use break";
            return Err(SnippetError::new(directive.line, reason).into());
        }
        self.path_changes.push(change);
        let count = self.path_changes.len();
        Ok(directive.at_most(count, MAX_PATH_CHANGES, "rewrites with break or last")?)
    }

    /// `rewrite PATTERN PATH [last | break]` of a server.
    pub(in crate::snippet) fn rewrite_in_server(
        &mut self,
        directive: &Directive,
    ) -> Result<(), SnippetErrors> {
        let rewrite = rewrites::server_rewrite(directive, self.data_plane);
        let rewrite = rewrite.ok_or_else(|| directive.unsupported())?;
        if let Some(before) = self.server_rewrites.last().filter(|it| it.goes_on) {
            let reason = "rewrite to a path needs `last` where another one follows: the new path may be rewritten again";
            return Err(SnippetError::new(before.line, reason).into());
        }
        self.server_rewrites.push(rewrite);
        let count = self.server_rewrites.len();
        Ok(directive.at_most(count, MAX_SERVER_REWRITES, "rewrites to a path")?)
    }

    /// Checks that a directive of another kind is in front of all of them.
    pub(super) fn check_before_path_changes(
        &self,
        directive: &Directive,
    ) -> Result<(), SnippetError> {
        let reason = if !self.server_rewrites.is_empty() {
            "after a rewrite to a path only further ones are supported: nginx runs nothing else for a path that it has rewritten"
        } else if !self.path_changes.is_empty() {
            "after rewrite with break only further rewrites with break are supported; after rewrite with last, no if, set, return or rewrite"
        } else {
            return Ok(());
        };
        Err(SnippetError::new(directive.line, reason))
    }
}
