//! `internal`: a location of a server that only nginx's own requests get to (`auth_request`, `rewrite` to another path).
//!
//! There are none of these here, so whoever asks for it gets 404, as clients do in nginx, and what else is in it has no effect.

use crate::snippet::error::SnippetErrors;
use crate::snippet::syntax::tree::Directive;

/// True of the block of such a location.
pub(in crate::snippet) fn is_internal(block: &[Directive]) -> bool {
    let mut all = block.iter();
    all.any(|directive| directive.words() == ["internal"] && directive.block.is_none())
}

/// Checks that all directives are about requests to pods.
pub(in crate::snippet) fn check(block: &[Directive]) -> Result<(), SnippetErrors> {
    let mut errors = SnippetErrors::default();
    for directive in block {
        let name = directive.name();
        let is_of_pods = name == "internal" || name.starts_with("proxy_");
        let is_known = is_of_pods && directive.block.is_none();
        let known = is_known.then_some(());
        errors.take(known.ok_or_else(|| directive.unsupported()))?;
    }
    errors.check()
}
