//! `server-snippet`: policies of all servers.

use std::sync::Arc;

use sluice_ir::{GlobalConfig, HeaderName, ReasonCode};
use sluice_translate_engine::Severity;

use super::keys::{Key, key};
use super::view::View;
use crate::snippet::{
    AdviceFor, Alternatives, Block, Comparable, CompileOptions, Compiled, Difference, Effective,
    HeaderOptions, ServerSnippet, SnippetErrors, compile, first_of, why_without_effect,
};
use crate::support::{AppliesTo, DataPlane};

const KEY: &str = "server-snippet";

pub(super) const KEYS: &[Key] = &[key(KEY, "").partly(
    "response headers, return, if, set, allow, deny and location for the paths of all Ingresses (docs/snippets.md); a snippet with \
     anything else is reported, and may close all paths",
)];

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
        Ok(compiled) => (serve(compiled, text, view), true),
        Err(errors) => {
            let reason = of_content(errors, data_plane, alternatives);
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
) -> Result<Compiled, SnippetErrors> {
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
        of_all_servers: true,
        data_plane,
        not_needed: &|_| None,
    };
    compile(text, Block::Server, options).map_err(|mut errors| {
        if data_plane == Some(DataPlane::Envoy) {
            let comparable = Comparable::BY_NGINX;
            let with_nginx = CompileOptions {
                comparable,
                ..options
            };
            errors.mark_served_by_nginx(compile(text, Block::Server, with_nginx).err());
        }
        errors
    })
}

/// Notes what differs.
fn serve(compiled: Compiled, text: &str, view: &mut View<'_, '_>) -> Option<Arc<ServerSnippet>> {
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
        let reason = why_without_effect(text);
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
    match alternatives(&directives, data_plane, AdviceFor::ConfigMap).as_str() {
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
