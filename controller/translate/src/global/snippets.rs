//! `server-snippet` and `location-snippet`: policies of all servers, and of all locations.

use std::sync::Arc;

use sluice_ir::{GlobalConfig, HeaderName, ReasonCode};
use sluice_translate_engine::Severity;

use super::keys::{Key, key};
use super::view::View;
use crate::snippet::{
    AdviceFor, Block, Catalogues, Comparable, CompileOptions, Compiled, Difference, Effective,
    HeaderOptions, LocationSnippet, ServerSnippet, SnippetErrors, compile, first_of,
    why_without_effect,
};
use crate::support::{AppliesTo, DataPlane};

const OF_SERVERS: &str = "server-snippet";
const OF_LOCATIONS: &str = "location-snippet";

pub(super) const KEYS: &[Key] = &[
    key(OF_LOCATIONS, "").partly(
        "headers, return, if, set, allow and deny for the paths of all Ingresses (docs/snippets.md); a snippet with anything else is \
         reported, and may close all paths",
    ),
    key(OF_SERVERS, "").partly(
        "response headers, return, if, set, allow, deny and location for the paths of all Ingresses (docs/snippets.md); a snippet with \
         anything else is reported, and may close all paths",
    ),
];

/// `None`: there is none, or it is not served. `false`: it is not served, and may guard.
pub(super) fn of_servers(
    view: &mut View<'_, '_>,
    config: &GlobalConfig,
    effective: Effective,
    catalogues: Catalogues,
) -> (Option<Arc<ServerSnippet>>, bool) {
    let key = (OF_SERVERS, Block::Server);
    let (read, is_open) = read(view, key, config, effective, catalogues);
    let served = read.and_then(|(compiled, text)| serve_in_servers(compiled, text, view));
    (served, is_open)
}

/// The same of locations.
pub(super) fn of_locations(
    view: &mut View<'_, '_>,
    config: &GlobalConfig,
    effective: Effective,
    catalogues: Catalogues,
) -> (Option<Arc<LocationSnippet>>, bool) {
    let key = (OF_LOCATIONS, Block::Location);
    let (read, is_open) = read(view, key, config, effective, catalogues);
    let served = read.and_then(|(compiled, text)| serve_in_locations(compiled, text, view));
    (served, is_open)
}

/// Compiles a snippet. Reports what cannot be served.
fn read<'a>(
    view: &mut View<'a, '_>,
    (key, block): (&'static str, Block),
    config: &GlobalConfig,
    effective: Effective,
    catalogues: Catalogues,
) -> (Option<(Compiled, &'a str)>, bool) {
    let Some(text) = view.text(key) else {
        return (None, true);
    };
    let data_plane = view.served_by();
    match compiled(text, block, (data_plane, config), catalogues) {
        Ok(compiled) => (Some((compiled, text)), true),
        Err(errors) => {
            let alternatives = catalogues.alternatives;
            let reason = errors
                .reason(|directives| alternatives(directives, data_plane, AdviceFor::ConfigMap));
            let snippet = (key, text, AppliesTo::ALL);
            let is_open = view.refuse_snippet(snippet, Some(reason), effective, alternatives);
            (None, is_open)
        }
    }
}

fn compiled(
    text: &str,
    block: Block,
    (data_plane, config): (Option<DataPlane>, &GlobalConfig),
    catalogues: Catalogues,
) -> Result<Compiled, SnippetErrors> {
    let by = |speaks_grpc| {
        let options = CompileOptions {
            headers: HeaderOptions {
                is_set_elsewhere: &|name| is_set_elsewhere(name, block, config),
                speaks_grpc,
                underscores: config.underscores_in_headers,
                forwarded: &config.forwarded,
                knows_users: false,
                hidden: &config.hidden_headers,
                // To Envoy each is a program for every path, however many there are (see `MAX_CONDITIONAL_HEADERS`).
                adds_to_errors: block == Block::Location && data_plane != Some(DataPlane::Nginx),
            },
            has_auth_service: false,
            comparable: Comparable::by(data_plane, config),
            hosts: None,
            header_buffers: None,
            of_all_servers: true,
            constants: None,
            data_plane,
            not_needed: &|name| (catalogues.not_needed)(name, data_plane),
        };
        compile(text, block, options)
    };
    // Locations of both kinds have it.
    if block == Block::Location {
        by(true)?;
    }
    by(false)
}

/// Notes what differs.
fn serve_in_servers(
    compiled: Compiled,
    text: &str,
    view: &mut View<'_, '_>,
) -> Option<Arc<ServerSnippet>> {
    note_not_needed(&compiled, OF_SERVERS, view);
    let is_nginx = view.served_by() == Some(DataPlane::Nginx);
    let differences = compiled.differences.clone();
    let has_no_effect = compiled.has_no_effect();
    let mut snippet = ServerSnippet::from(compiled);
    if has_no_effect {
        note_no_effect(OF_SERVERS, text, view);
        // Snippets of Ingresses may read its variables.
        return (snippet != ServerSnippet::default()).then(|| Arc::new(snippet));
    }
    let before = snippet.clone();
    if !is_nginx {
        // To Envoy each is a program for every path, however many there are (see `MAX_CONDITIONAL_HEADERS`).
        snippet.add_to_errors();
    }
    let adds_to_errors = before != snippet || differences.contains(&Difference::AddsToErrors);
    let is_without_date = differences.contains(&Difference::WithoutDate) && !is_nginx;
    note_differences(OF_SERVERS, [adds_to_errors, is_without_date, false], view);
    Some(Arc::new(snippet))
}

/// The same of locations.
fn serve_in_locations(
    mut compiled: Compiled,
    text: &str,
    view: &mut View<'_, '_>,
) -> Option<Arc<LocationSnippet>> {
    note_not_needed(&compiled, OF_LOCATIONS, view);
    compiled.not_needed.clear();
    if compiled.has_no_effect() {
        note_no_effect(OF_LOCATIONS, text, view);
        return None;
    }
    let is_nginx = view.served_by() == Some(DataPlane::Nginx);
    let has = |difference| compiled.differences.contains(&difference);
    let differs = [
        has(Difference::AddsToErrors),
        has(Difference::WithoutDate) && !is_nginx,
        has(Difference::WithoutChain),
    ];
    note_differences(OF_LOCATIONS, differs, view);
    let name = format!("{OF_LOCATIONS} of {}", view.object());
    Some(Arc::new(LocationSnippet::new(text, name, compiled)))
}

fn note_not_needed(compiled: &Compiled, key: &str, view: &mut View<'_, '_>) {
    if compiled.not_needed.is_empty() {
        return;
    }
    let not_needed = compiled.not_needed.iter().cloned();
    let reason = first_of(not_needed, "; ", "; and ");
    note(view, key, (ReasonCode::NoEffect, reason), "not needed");
}

fn note_no_effect(key: &str, text: &str, view: &mut View<'_, '_>) {
    let reason = why_without_effect(text).to_owned();
    let consequence = "it has no effect, as in ingress-nginx";
    note(view, key, (ReasonCode::NoEffect, reason), consequence);
}

/// Those of [`Difference`], in its order.
fn note_differences(key: &str, differs: [bool; 3], view: &mut View<'_, '_>) {
    let all = [
        (
            Difference::AddsToErrors,
            "add_header without always adds the header to errors, too",
        ),
        (
            Difference::WithoutDate,
            "expires with a time sends Cache-Control alone",
        ),
        (
            Difference::WithoutChain,
            "$proxy_add_x_forwarded_for: pods get the address of the client alone; with it what the client says of others, use \
             compute-full-forwarded-for",
        ),
    ];
    let said = all.into_iter().zip(differs).filter(|(_, is_so)| *is_so);
    for ((difference, reason), _) in said {
        let consequence = "served with this difference";
        let code = ReasonCode::PartiallySupported;
        view.report(
            code,
            difference.severity(),
            key,
            reason.to_owned(),
            consequence,
        );
    }
}

fn note(
    view: &mut View<'_, '_>,
    key: &str,
    (code, reason): (ReasonCode, String),
    consequence: &str,
) {
    view.report(code, Severity::Note, key, reason, consequence);
}

/// Another key has a say about the header.
fn is_set_elsewhere(name: &HeaderName, block: Block, config: &GlobalConfig) -> bool {
    let set = config.response_headers.iter();
    let of_requests = config.request_headers.iter();
    let of_requests = of_requests.filter(|_| block == Block::Location);
    let mut known = set.chain(of_requests).map(|header| &header.name);
    known.any(|known| known.is_alike(name.as_str()))
}
