//! `enable-modsecurity`, `enable-owasp-modsecurity-crs` and `modsecurity-snippet`: the web application firewall of all Ingresses
//! that do not switch it off.

use sluice_ir::{GlobalConfig, ReasonCode, Waf};
use sluice_syntax::seclang::{self, SecLang, SecLangError};
use sluice_syntax::value;
use sluice_translate_engine::{ClosedFor, Severity};

use super::keys::{Key, key};
use super::view::View;
use crate::snippet;
use crate::support::{WAF, WAF_RULES};

const SNIPPET: &str = "modsecurity-snippet";

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("enable-modsecurity", "false").supported(WAF),
    key("enable-owasp-modsecurity-crs", "false").supported(WAF),
    key(SNIPPET, "").partly(WAF_RULES),
];

/// `false`: rules that may guard are not understood.
pub(super) fn take(config: &mut GlobalConfig, view: &mut View<'_, '_>) -> bool {
    let (mut is_on, mut core_rules) = (false, false);
    view.set(&mut is_on, "enable-modsecurity", value::bool);
    view.set(&mut core_rules, "enable-owasp-modsecurity-crs", value::bool);
    let text = view.text(SNIPPET);
    if !is_on {
        return true;
    }
    let (parsed, is_open) = match text.map(|text| (text, seclang::parse(text))) {
        None => (None, true),
        Some((_, Ok(parsed))) => (Some(parsed), true),
        Some((text, Err(error))) => (None, refuse(view, text, &error)),
    };
    if let Some(parsed) = &parsed {
        note_differences(view, parsed);
    }
    let SecLang {
        rules,
        core_rules: included,
        recommended,
        ..
    } = parsed.unwrap_or_else(|| SecLang {
        recommended: true,
        ..SecLang::default()
    });
    config.waf = Some(Waf {
        recommended,
        rules,
        core_rules: core_rules || included,
        transaction_id: None,
    });
    is_open
}

/// Reports a snippet that is not understood; `false`: it may guard.
fn refuse(view: &mut View<'_, '_>, text: &str, error: &SecLangError) -> bool {
    let reason = format!("line {}: {}", error.line, error.reason);
    match snippet::closing_rules(text) {
        None => {
            let consequence = "the recommended settings are used, which only detect";
            view.report(
                ReasonCode::Unsupported,
                Severity::Warning,
                SNIPPET,
                reason,
                consequence,
            );
            true
        }
        Some((directive, line)) => {
            let shown = sluice_syntax::shortened(&directive);
            let consequence = format!(
                "{shown:?} (line {line}) may be access control, which cannot be enforced; the paths of all Ingresses answer 503"
            );
            view.report(
                ReasonCode::Unsupported,
                Severity::Error,
                SNIPPET,
                reason,
                &consequence,
            )
            .closed_for = Some(ClosedFor::AccessControl);
            false
        }
    }
}

fn note_differences(view: &mut View<'_, '_>, parsed: &SecLang) {
    for difference in parsed.differences() {
        view.report(
            ReasonCode::PartiallySupported,
            Severity::Note,
            SNIPPET,
            difference,
            "served with this difference",
        );
    }
}
