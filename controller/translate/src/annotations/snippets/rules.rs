//! Rules of ModSecurity in a snippet.

use sluice_ir::{ReasonCode, Waf};
use sluice_syntax::seclang::{self, SecLang, SecLangError};

use super::{Effect, Obstacle, Settings, Snippet, note_no_effect, refuse};
use crate::annotations::view::View;
use crate::snippet::{Language, SnippetError};

impl Effect {
    pub(super) fn take_rules(
        &mut self,
        view: &mut View<'_, '_>,
        snippet: Snippet<'_>,
        settings: Settings<'_>,
    ) {
        let is_off = snippet.is_served && settings.policy.waf.is_none();
        match rules(snippet) {
            _ if is_off && !snippet.is_too_risky => {
                note_no_effect(view, snippet, "requires enable-modsecurity: \"true\"");
            }
            Ok(_) if !settings.permit(snippet) => {
                refuse(view, snippet, Obstacle::NotPermitted, settings);
            }
            Ok(rules) => {
                note_rules(view, snippet, &rules);
                self.rules = Some(rules);
            }
            Err(obstacle) => {
                refuse(view, snippet, obstacle, settings);
            }
        }
    }
}

impl Settings<'_> {
    /// Why such a snippet closes its paths, whatever is in it.
    pub(super) fn closing(self, language: Language) -> Option<String> {
        let closes = language == Language::ModSecurity && self.rejects();
        closes.then(|| "its rules may be access control, which cannot be enforced".to_owned())
    }

    /// The firewall of all Ingresses rejects requests, and with it rules that say nothing about that.
    fn rejects(self) -> bool {
        let all = self.globals.config.waf.as_ref();
        self.policy.waf.is_some() && all.is_some_and(|all| all.may_block(None))
    }
}

/// The firewall with the rules of a snippet, which take the place of the recommended settings.
pub(super) fn with_rules(mut waf: Waf, snippet: SecLang) -> Waf {
    waf.recommended &= snippet.recommended;
    waf.core_rules |= snippet.core_rules;
    waf.rules = snippet.rules;
    waf
}

/// Says what of a snippet differs.
fn note_rules(view: &mut View<'_, '_>, snippet: Snippet<'_>, parsed: &SecLang) {
    for difference in parsed.differences() {
        view.note(
            ReasonCode::PartiallySupported,
            snippet.annotation.name,
            snippet.applies_to.note(&difference),
            "served with this difference",
        );
    }
}

fn rules(snippet: Snippet<'_>) -> Result<SecLang, Obstacle> {
    if !snippet.is_served {
        return Err(Obstacle::Kind);
    }
    seclang::parse(snippet.text).map_err(|SecLangError { line, reason }| {
        let error = SnippetError {
            line,
            reason: reason.into(),
            directive: None,
        };
        Obstacle::Content(error.into())
    })
}
