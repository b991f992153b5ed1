//! Who is let in nowhere.

use sluice_ir::{Blocked, TextMatch};

use super::view::View;
use crate::annotations::value;
use crate::object::shortened;
use crate::{Severity, regex};

pub(super) fn take(blocked: &mut Blocked, view: &mut View<'_, '_>) {
    view.set(&mut blocked.addresses, "block-cidrs", value::cidrs);
    blocked.user_agents = texts(view, "block-user-agents");
    blocked.referers = texts(view, "block-referers");
}

/// nginx's `map`: a text, `~` and a pattern, `~*` and a pattern. What cannot be read is reported, and the others hold.
fn texts(view: &mut View<'_, '_>, key: &'static str) -> Vec<TextMatch> {
    let entries = view.text(key).map(value::list).unwrap_or_default();
    let mut texts = Vec::new();
    for entry in entries {
        let (pattern, text) = match (entry.strip_prefix("~*"), entry.strip_prefix('~')) {
            (Some(pattern), _) => (pattern, TextMatch::FoundInAnyCase(pattern.to_owned())),
            (None, Some(pattern)) => (pattern, TextMatch::Found(pattern.to_owned())),
            (None, None) => ("", TextMatch::Whole(entry.to_owned())),
        };
        match regex::check(pattern) {
            Ok(_) => texts.push(text),
            Err(wrong) => {
                let got = shortened(entry);
                let reason = format!("expected patterns that RE2 and PCRE share, got {got:?}: {wrong}");
                view.say(Severity::Error, key, reason, "this one is not blocked");
            }
        }
    }
    texts
}
