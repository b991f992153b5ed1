//! Notes on snippets that are served, or that change nothing.

use sluice_ir::ReasonCode;

use super::Snippet;
use crate::annotations::view::View;
use crate::snippet::{Block, Compiled, Difference, are_defaults, first_of, why_without_effect};
use crate::support::DataPlane;

pub(super) fn note_no_effect(view: &mut View<'_, '_>, snippet: Snippet<'_>, reason: &str) {
    let reason = snippet.applies_to.note(reason);
    let name = snippet.annotation.name;
    view.note(ReasonCode::NoEffect, name, reason, "not needed")
        .same_as_ingress_nginx = true;
}

/// Notes what of a snippet changes nothing.
pub(super) fn note_not_needed(
    view: &mut View<'_, '_>,
    snippet: Snippet<'_>,
    lines: Vec<String>,
    has_no_effect: bool,
) {
    if !lines.is_empty() {
        note_no_effect(view, snippet, &first_of(lines.into_iter(), "; ", "; and "));
    } else if has_no_effect && snippet.block() == Some(Block::Server) && !are_defaults(snippet.text)
    {
        let reason = snippet.applies_to.note(why_without_effect(snippet.text));
        let name = snippet.annotation.name;
        let consequence = "it has no effect, as in ingress-nginx";
        view.note(ReasonCode::NoEffect, name, reason, consequence)
            .same_as_ingress_nginx = true;
    } else if has_no_effect {
        note_no_effect(view, snippet, "it sets only defaults");
    }
}

pub(super) fn note_differences(
    view: &mut View<'_, '_>,
    snippet: Snippet<'_>,
    compiled: &Compiled,
    data_plane: Option<DataPlane>,
) {
    for difference in &compiled.differences {
        if *difference == Difference::WithoutDate && data_plane == Some(DataPlane::Nginx) {
            continue;
        }
        let reason = snippet.applies_to.note(difference.reason());
        let name = snippet.annotation.name;
        let consequence = "served with this difference";
        let report = view.note(ReasonCode::PartiallySupported, name, reason, consequence);
        report.severity = difference.severity();
    }
}
