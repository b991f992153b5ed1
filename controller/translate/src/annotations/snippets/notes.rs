//! Notes on snippets that are served, or that change nothing.

use sluice_ir::ReasonCode;
use sluice_translate_engine::Severity;

use super::Snippet;
use crate::annotations::view::View;
use crate::snippet::{Block, Compiled, Difference, are_defaults, first_of, why_without_effect};
use crate::support::DataPlane;

pub(super) fn note_no_effect(view: &mut View<'_, '_>, snippet: Snippet<'_>, reason: &str) {
    let reason = snippet.applies_to.note(reason);
    let name = snippet.annotation.name;
    view.note(ReasonCode::NoEffect, name, reason, "not needed")
        .same_as_ingress_nginx = true;
}

/// Notes what of a snippet changes nothing.
pub(super) fn note_not_needed(
    view: &mut View<'_, '_>,
    snippet: Snippet<'_>,
    lines: Vec<String>,
    has_no_effect: bool,
) {
    if !lines.is_empty() {
        note_no_effect(view, snippet, &first_of(lines.into_iter(), "; ", "; and "));
    } else if has_no_effect && snippet.block() == Some(Block::Server) && !are_defaults(snippet.text)
    {
        let reason = snippet.applies_to.note(why_without_effect(snippet.text));
        let name = snippet.annotation.name;
        let consequence = "it has no effect, as in ingress-nginx";
        view.note(ReasonCode::NoEffect, name, reason, consequence)
            .same_as_ingress_nginx = true;
    } else if has_no_effect {
        note_no_effect(view, snippet, "it sets only defaults");
    }
}

pub(super) fn note_differences(
    view: &mut View<'_, '_>,
    snippet: Snippet<'_>,
    compiled: &Compiled,
    data_plane: Option<DataPlane>,
) {
    for difference in &compiled.differences {
        if *difference == Difference::WithoutDate && data_plane == Some(DataPlane::Nginx) {
            continue;
        }
        let reason = snippet.applies_to.note(text(*difference));
        let name = snippet.annotation.name;
        let consequence = "served with this difference";
        let report = view.note(ReasonCode::PartiallySupported, name, reason, consequence);
        if *difference == Difference::WithoutQuery {
            report.severity = Severity::Warning;
        }
    }
}

fn text(difference: Difference) -> &'static str {
    match difference {
        Difference::AddsToErrors => {
            "add_header of this header without always adds it to errors, too"
        }
        Difference::WithoutDate => {
            "expires with a time sends Cache-Control alone, which takes precedence over Expires, also over that of pods (RFC 9111, 5.3)"
        }
        Difference::WithoutChain => {
            "$proxy_add_x_forwarded_for: pods get the address of the client alone; with it what the client says of \
             others, use compute-full-forwarded-for of the ConfigMap"
        }
        Difference::ConnectTimeout => {
            "proxy_connect_timeout in a location: pods are connected to as the path of the Ingress says (proxy-connect-timeout)"
        }
        Difference::HeaderRoom => {
            "Envoy has the same room for headers on all hosts: 60 KiB, or what large-client-header-buffers of the ConfigMap says (not \
             with --data-plane nginx)"
        }
        Difference::Connections => {
            "Envoy has the same timeouts and keep-alive for clients of all hosts: those of the ConfigMap (not with --data-plane nginx)"
        }
        Difference::ClientTimeouts => {
            "client_body_timeout, send_timeout and keepalive_timeout of a location: clients of all paths have those of the ConfigMap, or on nginx of the \
             server-snippet"
        }
        Difference::RateAfter => {
            "limit_rate_after: Envoy limits responses from the first byte (not with --data-plane nginx)"
        }
        Difference::RetryTime => {
            "grpc_next_upstream_timeout: Envoy tries again without a limit of time (not with --data-plane nginx)"
        }
        Difference::GrpcRetries => {
            "grpc_next_upstream and the like of a server: pods are tried again as proxy-next-upstream and \
             proxy-next-upstream-tries say"
        }
        Difference::GrpcBuffer => {
            "grpc_buffer_size: nginx has 64 KiB for all paths (not with --data-plane envoy)"
        }
        Difference::OfNormalised => {
            "headers within if ($request_uri ...) are those of the normalised target (not with --data-plane nginx)"
        }
        Difference::WithoutQuery => {
            "rewrite to a path with a query: requests with a query of their own answer 503 (not with --data-plane nginx)"
        }
    }
}
