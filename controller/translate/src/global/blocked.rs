//! Blocked clients: by address, user agent and referer.

use sluice_ir::{Blocked, ReasonCode, TextMatch};
use sluice_pattern::Subject;
use sluice_syntax::{shortened, value};

use super::keys::{Key, key};
use super::values::maybe_cidrs;
use super::view::{CLOSES, View};

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("block-cidrs", "").full(),
    key("block-referers", "").partly("patterns that RE2 and PCRE share; with any other, all paths answer 503"),
    key("block-user-agents", "").partly("patterns that RE2 and PCRE share; with any other, all paths answer 503"),
];

/// `false` when something of it cannot be read.
pub(super) fn take(blocked: &mut Blocked, view: &mut View<'_, '_>) -> bool {
    let addresses = view.set_access_control(&mut blocked.addresses, "block-cidrs", maybe_cidrs);
    let user_agents = texts(&mut blocked.user_agents, view, "block-user-agents");
    let referers = texts(&mut blocked.referers, view, "block-referers");
    addresses && user_agents && referers
}

/// nginx's `map`: a text, `~` and a pattern, `~*` and a pattern. `false` when one of them cannot be read.
fn texts(target: &mut Vec<TextMatch>, view: &mut View<'_, '_>, key: &'static str) -> bool {
    let entries = view.text(key).map(value::list).unwrap_or_default();
    let mut readable = true;
    for entry in entries {
        match text(entry) {
            Ok(text) => target.push(text),
            Err(wrong) => {
                let got = shortened(entry);
                let reason =
                    format!("expected patterns that RE2 and PCRE share, got {got:?}: {wrong}");
                let (severity, consequence) = CLOSES;
                view.report(ReasonCode::InvalidValue, severity, key, reason, consequence);
                readable = false;
            }
        }
    }
    readable
}

fn text(entry: &str) -> Result<TextMatch, String> {
    let (pattern, subject, text): (_, _, fn(String) -> TextMatch) = match entry.strip_prefix('~') {
        None => return Ok(TextMatch::ExactIgnoreCase(entry.to_owned())),
        Some(rest) => match rest.strip_prefix('*') {
            Some(pattern) => (pattern, Subject::TextInAnyCase, TextMatch::RegexIgnoreCase),
            None => (rest, Subject::Text, TextMatch::Regex),
        },
    };
    let pattern = sluice_pattern::with_flags_in_groups(pattern);
    sluice_pattern::check(&pattern, subject).map(|_| text(pattern.into_owned()))
}
