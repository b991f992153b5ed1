//! Rules behind the core rules. nginx evaluates those of a location before those around it, so they come before the core rules: as
//! in ingress-nginx, where its ConfigMap has them for all.

use sluice_ir::waf::{Action, Assignment, Directive};

/// Refuses a rule that means something else before the core rules: it would let through what they reject, or see nothing of what they
/// found.
pub(super) fn check(directive: &Directive) -> Result<(), String> {
    let actions = directive.actions();
    let lets_through = actions.iter().any(|action| {
        action.is("allow") || action.word("allow").is_some() || action.word("skipAfter").is_some()
    });
    let is_early = actions
        .iter()
        .any(|action| action.word("phase") == Some("1"));
    let controls = actions
        .iter()
        .any(|action| matches!(action, Action::Control(..) | Action::ControlTarget(..)));
    if lets_through || controls && !is_early || reads_variables(directive) {
        return Err("it has to come before the core rules".to_owned());
    }
    Ok(())
}

/// True if its place matters.
pub(super) fn is_evaluated(directive: &Directive) -> bool {
    matches!(directive, Directive::Rule(_) | Directive::Action(_))
}

/// Variables that the core rules set.
fn reads_variables(directive: &Directive) -> bool {
    let in_actions = directive.actions().iter().any(|action| match action {
        Action::Text(_, text)
        | Action::Set(
            _,
            Assignment::Value(text) | Assignment::Add(text) | Assignment::Subtract(text),
        ) => text.has_rule_variables(),
        _ => false,
    });
    let Directive::Rule(rule) = directive else {
        return in_actions;
    };
    let names = ["TX", "HIGHEST_SEVERITY", "MATCHED_VAR", "MATCHED_VARS"];
    let in_targets = rule
        .targets
        .iter()
        .any(|target| names.contains(&target.variable));
    in_actions
        || in_targets
        || rule
            .operator
            .to_string()
            .to_ascii_lowercase()
            .contains("%{tx")
}
