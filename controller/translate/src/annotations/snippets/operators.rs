//! The ConfigMap's `location-snippet`, behind the `configuration-snippet` of an Ingress: as in ingress-nginx both are in one location.

use sluice_ir::{HeaderName, IpAccess, ReasonCode};
use sluice_translate_engine::{ClosedFor, Severity};

use super::beside::{is_set_elsewhere, policy_conflict, with_options};
use super::{Context, Settings, Snippet};
use crate::annotations::alternatives::alternatives;
use crate::annotations::snippet_obstacle::Obstacle;
use crate::annotations::view::View;
use crate::snippet::{
    AdviceFor, Compiled, Effective, Language, LocationSnippet, SnippetContext, SnippetErrors,
    access_behind, compile_behind, judge,
};

/// Compiles the snippet of an Ingress, which can be served alone, with that of the ConfigMap behind it.
pub(super) fn behind(
    snippet: Snippet<'_>,
    of_configmap: &LocationSnippet,
    context: Context<'_>,
) -> Result<Compiled, Obstacle> {
    let both = compiled(snippet.text, of_configmap, context).map_err(|errors| {
        let reason = errors.reason_without_lines();
        let name = &of_configmap.name;
        Obstacle::Conflict(format!("not supported together with {name}: {reason}").into())
    })?;
    match policy_conflict(&both, context) {
        Some(reason) => Err(Obstacle::Conflict(reason.into())),
        None => Ok(both),
    }
}

/// Compiles the snippet of the ConfigMap alone. The error: a setting of the Ingress is in the way.
pub(super) fn alone(
    of_configmap: &LocationSnippet,
    context: Context<'_>,
) -> Result<Compiled, String> {
    let compiled = compiled("", of_configmap, context).map_err(|errors| {
        errors.reason(|directives| {
            alternatives(
                directives,
                context.settings.data_plane,
                AdviceFor::ConfigMap,
            )
        })
    })?;
    match policy_conflict(&compiled, context) {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(compiled),
    }
}

fn compiled(
    own: &str,
    of_configmap: &LocationSnippet,
    context: Context<'_>,
) -> Result<Compiled, SnippetErrors> {
    let settings = context.settings;
    let is_replaced = |name: &HeaderName| is_replaced(name, settings);
    let is_set_elsewhere =
        |name: &HeaderName| !is_replaced(name) && is_set_elsewhere(name, settings);
    let mut both = with_options(context, &is_set_elsewhere, |options| {
        compile_behind(own, &of_configmap.text, options)
    })?;
    both.without_responses_of(&is_replaced);
    if both.access != IpAccess::default() {
        both.access = access_behind(&settings.policy.ip_access, &both.access);
    }
    Ok(both)
}

/// `custom-headers` and CORS are `more_set_headers` behind the snippets of the location.
fn is_replaced(name: &HeaderName, settings: Settings<'_>) -> bool {
    let mut own = settings.policy.response_headers.iter();
    let lower = name.as_str().to_ascii_lowercase();
    own.any(|header| header.name.is_alike(name.as_str()))
        || settings.policy.cors.is_some() && lower.starts_with("access-control-")
}

/// Reports that it is not served, and closes the paths if it may guard.
pub(super) fn refuse(
    reason: &str,
    of_configmap: &LocationSnippet,
    settings: Settings<'_>,
    view: &mut View<'_, '_>,
) {
    let effective = Effective {
        largest_body: settings.policy.max_body_size,
    };
    let judgement = judge(
        &of_configmap.text,
        Language::Nginx(SnippetContext::Location),
        effective,
        settings.data_plane,
        alternatives,
    );
    let closes = judgement.closing.is_some();
    view.denied |= closes;
    let (severity, consequence) = match judgement.closing {
        Some(closing) => (
            Severity::Error,
            format!("none of the snippet is served; {closing}; affected paths answer 503"),
        ),
        None => (
            Severity::Warning,
            "none of the snippet is served".to_owned(),
        ),
    };
    let name = &of_configmap.name;
    let reason = format!("{name} is not supported beside these annotations: {reason}");
    let report = view.reporter.report(
        ReasonCode::Conflicted,
        severity,
        "metadata.annotations",
        reason,
        consequence,
    );
    report.closed_for = closes.then_some(ClosedFor::AccessControl);
}
