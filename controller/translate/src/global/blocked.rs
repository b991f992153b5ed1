//! Who is let in nowhere.

use sluice_ir::{Blocked, TextMatch};

use super::view::{CLOSES, View};
use crate::annotations::value;
use crate::object::shortened;
use crate::regex;

/// `false` when something of it cannot be read.
pub(super) fn take(blocked: &mut Blocked, view: &mut View<'_, '_>) -> bool {
    let addresses = view.guard(&mut blocked.addresses, "block-cidrs", value::cidrs);
    let user_agents = texts(&mut blocked.user_agents, view, "block-user-agents");
    let referers = texts(&mut blocked.referers, view, "block-referers");
    addresses && user_agents && referers
}

/// nginx's `map`: a text, `~` and a pattern, `~*` and a pattern. `false` when one of them cannot be read.
fn texts(target: &mut Vec<TextMatch>, view: &mut View<'_, '_>, key: &'static str) -> bool {
    let entries = view.text(key).map(value::list).unwrap_or_default();
    let mut readable = true;
    for entry in entries {
        let (pattern, text) = match (entry.strip_prefix("~*"), entry.strip_prefix('~')) {
            (Some(pattern), _) => (pattern, TextMatch::FoundInAnyCase(pattern.to_owned())),
            (None, Some(pattern)) => (pattern, TextMatch::Found(pattern.to_owned())),
            (None, None) => ("", TextMatch::Whole(entry.to_owned())),
        };
        match regex::check(pattern) {
            Ok(_) => target.push(text),
            Err(wrong) => {
                let got = shortened(entry);
                let reason = format!("expected patterns that RE2 and PCRE share, got {got:?}: {wrong}");
                let (severity, consequence) = CLOSES;
                view.say(severity, key, reason, consequence);
                readable = false;
            }
        }
    }
    readable
}
