//! Checks of whole snippets.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use sluice_ir::{DirectResponse, ResponseContent};

use crate::snippet::block::Block;
use crate::snippet::compiled::Location;
use crate::snippet::defaults;
use crate::snippet::error::SnippetError;
use crate::snippet::locations::LocationPath;
use crate::snippet::rewrite::rewrites::ServerRewrite;
use crate::snippet::rewrite::set_variables;
use crate::snippet::syntax::tree::Directive;

pub(super) fn line_of_if(all: &[Directive]) -> usize {
    let mut conditions = all.iter().filter(|directive| directive.name() == "if");
    conditions.next().map_or(1, |directive| directive.line)
}

/// Checks that a location with `proxy_pass` would inherit nothing of its server in nginx, and that no `rewrite` leads to a path where such a
/// location, or one that is `internal`, may be: a new path is looked for among the others only.
pub(super) fn check_proxied(
    locations: &[Location],
    has_internal: bool,
    rewrites: &[ServerRewrite],
    all: &[Directive],
) -> Result<(), SnippetError> {
    let has_proxied = locations.iter().any(|it| it.proxy.is_some());
    if has_proxied {
        check_inherited(all)?;
    }
    if rewrites.is_empty() || !(has_proxied || has_internal) {
        return Ok(());
    }
    let mut rewrite = all.iter().filter(|directive| directive.name() == "rewrite");
    let line = rewrite.next().map_or(1, |directive| directive.line);
    let reason =
        "rewrite to another path is not supported beside a location with proxy_pass or internal";
    Err(SnippetError::new(line, reason))
}

fn check_inherited(all: &[Directive]) -> Result<(), SnippetError> {
    for directive in all {
        let words = directive.words();
        if defaults::is_overridden_by_locations(&words) && !defaults::is_default(&words) {
            let name = directive.name();
            let reason = format!(
                "{name} of the server is not supported beside a location with proxy_pass; write it into the location"
            );
            return Err(SnippetError::new(directive.line, reason));
        }
    }
    Ok(())
}

/// Checks that Envoy can compare a path with both patterns, that of a `rewrite` and that of each location that the `rewrite` is in or
/// beside.
pub(super) fn check_rewrites(
    responses: &[DirectResponse],
    mut locations: impl Iterator<Item = impl Borrow<LocationPath>>,
    all: &[Directive],
) -> Result<(), SnippetError> {
    let mut contents = responses.iter().map(|response| &response.content);
    let rewrites = contents.any(|content| matches!(content, ResponseContent::Rewritten { .. }));
    if !rewrites || locations.all(|path| path.borrow().is_comparable()) {
        return Ok(());
    }
    let mut rewrite = all.iter().filter(|directive| directive.name() == "rewrite");
    let first = rewrite.next().or_else(|| all.first());
    let line = first.map_or(1, |directive| directive.line);
    let reason = "rewrite is not supported in or beside a location with a pattern of this size: Envoy compares paths with both patterns";
    Err(SnippetError::new(line, reason))
}

/// Checks that no other directive reads a variable that `set` alone has, and no `if`, `return` or `rewrite`. `unasked`: such variables,
/// and the lines where they are set.
pub(super) fn check_unasked(
    unasked: &BTreeMap<String, usize>,
    all: &[Directive],
) -> Result<(), SnippetError> {
    for directive in all {
        check_unasked(unasked, directive.block.as_deref().unwrap_or_default())?;
        if matches!(directive.name(), "set" | "if" | "return" | "rewrite") {
            continue;
        }
        let read = set_variables::read_by(&directive.words(), |name| unasked.contains_key(name));
        if let Some((name, line)) = read.first().and_then(|name| unasked.get_key_value(name)) {
            let reason = format!(
                "variable ${name} is set, and no if or return of this snippet reads it; remove it"
            );
            return Err(SnippetError::new(*line, reason));
        }
    }
    Ok(())
}

/// True of a directive that changes nothing in this block.
pub(super) fn has_no_effect(words: &[&str], block: Block) -> bool {
    defaults::is_default(words)
        || match block {
            Block::Location | Block::AuthRequest => false,
            Block::Server => defaults::is_overridden_by_locations(words),
            Block::LocationOfServer | Block::ProxiedLocation => {
                defaults::is_without_effect_on_direct_responses(words)
            }
        }
}
