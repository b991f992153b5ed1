//! `server-snippet`: policies of all servers.

use std::sync::Arc;

use sluice_ir::{GlobalConfig, HeaderName, ReasonCode, ResponseContent};
use sluice_translate_engine::Severity;

use super::keys::{Key, key};
use super::view::View;
use crate::snippet::{
    Alternatives, Block, Comparable, CompileOptions, Compiled, Difference, Effective,
    HeaderOptions, ServerSnippet, SnippetErrors, compile, first_of,
};
use crate::support::{AppliesTo, DataPlane};

const KEY: &str = "server-snippet";

pub(super) const KEYS: &[Key] = &[key(KEY, "").partly(
    "response headers, return, if, set, allow, deny and location for the paths of all Ingresses (docs/snippets.md); a snippet with \
     anything else is reported, and may close all paths",
)];

/// Reason why it is not served.
enum Obstacle {
    Content(SnippetErrors),
    Part(&'static str),
}

/// `None`: there is none, or it is not served. `false`: it is not served, and may guard.
pub(super) fn take(
    view: &mut View<'_, '_>,
    config: &GlobalConfig,
    effective: Effective,
    alternatives: Alternatives,
) -> (Option<Arc<ServerSnippet>>, bool) {
    let Some(text) = view.text(KEY) else {
        return (None, true);
    };
    let data_plane = view.served_by();
    match compiled(text, data_plane, config) {
        Ok(compiled) => (serve(compiled, view), true),
        Err(obstacle) => {
            let reason = match obstacle {
                Obstacle::Part(reason) => reason.to_owned(),
                Obstacle::Content(errors) => of_content(errors, data_plane, alternatives),
            };
            let snippet = (KEY, text, AppliesTo::ALL);
            let is_open = view.refuse_snippet(snippet, Some(reason), effective, alternatives);
            (None, is_open)
        }
    }
}

fn compiled(
    text: &str,
    data_plane: Option<DataPlane>,
    config: &GlobalConfig,
) -> Result<Compiled, Obstacle> {
    let options = CompileOptions {
        headers: HeaderOptions {
            is_set_elsewhere: &|name| is_set_elsewhere(name, config),
            speaks_grpc: false,
            underscores: config.underscores_in_headers,
            forwarded: &config.forwarded,
        },
        has_auth_service: false,
        comparable: Comparable::by(data_plane, config),
        hosts: None,
        not_needed: &|_| None,
    };
    let compiled = compile(text, Block::Server, options).map_err(|mut errors| {
        if data_plane == Some(DataPlane::Envoy) {
            let comparable = Comparable::BY_NGINX;
            let with_nginx = CompileOptions {
                comparable,
                ..options
            };
            errors.mark_served_by_nginx(compile(text, Block::Server, with_nginx).err());
        }
        Obstacle::Content(errors)
    })?;
    let mut contents = compiled.direct_responses.iter().map(|it| &it.content);
    if contents.any(|it| matches!(it, ResponseContent::Rewritten { .. })) {
        // Which patterns it would meet is not known here.
        let reason = "rewrite is for snippets of Ingresses; use return within if ($uri ~ PATTERN)";
        return Err(Obstacle::Part(reason));
    }
    if !compiled.named.is_empty() {
        let reason = "a named location is for the Ingress whose auth-tls-error-page names it";
        return Err(Obstacle::Part(reason));
    }
    Ok(compiled)
}

/// Notes what differs.
fn serve(compiled: Compiled, view: &mut View<'_, '_>) -> Option<Arc<ServerSnippet>> {
    let not_needed = compiled.not_needed.iter().cloned();
    if !compiled.not_needed.is_empty() {
        let reason = first_of(not_needed, "; ", "; and ");
        view.report(
            ReasonCode::NoEffect,
            Severity::Note,
            KEY,
            reason,
            "not needed",
        );
    }
    let is_nginx = view.served_by() == Some(DataPlane::Nginx);
    let differences = compiled.differences.clone();
    let mut snippet = ServerSnippet::from(compiled);
    if snippet == ServerSnippet::default() {
        let reason = "every location sets its directives itself";
        let consequence = "it has no effect, as in ingress-nginx";
        view.report(
            ReasonCode::NoEffect,
            Severity::Note,
            KEY,
            reason,
            consequence,
        );
        return None;
    }
    let before = snippet.clone();
    if !is_nginx {
        // To Envoy each is a program for every path, however many there are (see `MAX_CONDITIONAL_HEADERS`).
        snippet.add_to_errors();
    }
    let mut said = Vec::new();
    if before != snippet || differences.contains(&Difference::AddsToErrors) {
        said.push("add_header without always adds the header to errors, too");
    }
    if differences.contains(&Difference::WithoutDate) && !is_nginx {
        said.push("expires with a time sends Cache-Control alone");
    }
    for reason in said {
        let consequence = "served with this difference";
        view.report(
            ReasonCode::PartiallySupported,
            Severity::Note,
            KEY,
            reason,
            consequence,
        );
    }
    Some(Arc::new(snippet))
}

fn of_content(
    errors: SnippetErrors,
    data_plane: Option<DataPlane>,
    alternatives: Alternatives,
) -> String {
    let errors = errors.by_line();
    let said = errors.iter();
    let said = said.map(|error| format!("line {}: {}", error.line, error.reason));
    let reason = first_of(said, "; ", "; and ");
    let directives: Vec<_> = errors
        .into_iter()
        .filter_map(|error| error.directive)
        .collect();
    match alternatives(&directives, data_plane).as_str() {
        "" => reason,
        instead => format!("{reason}; use {instead}"),
    }
}

/// Another key has a say about the header.
fn is_set_elsewhere(name: &HeaderName, config: &GlobalConfig) -> bool {
    let set = config.response_headers.iter().map(|header| &header.name);
    let mut known = set.chain(&config.hidden_headers);
    known.any(|known| known.is_alike(name.as_str()))
}
