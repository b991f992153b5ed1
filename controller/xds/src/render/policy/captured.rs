//! Texts with captured groups and the host of a request: `X-Forwarded-Prefix`, and paths of upstreams that Envoy's own rewrite has no
//! words for.
//!
//! ```text
//!   :path = /shop/a?b --> x-sluice-captured: /shop/a --> sluice.captured:prefix0 = /shop --+--> x-forwarded-prefix, path_rewrite:
//!   :authority = shop.example:80 -----------------> sluice.captured:host = shop.example --+    formats, for the router
//! ```
//!
//! A pattern is compared with the path alone, as where Envoy rewrites it: with a query behind it, `$` in a group would have the query.
//! Formats have no patterns, so what comes of one is metadata, which no client can set.

use std::collections::BTreeSet;

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::route::v3::Route;
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::{
    HeaderMutation, Mutations,
};
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::Config as HeaderToMetadata;
use envoy_types::pb::envoy::extensions::filters::http::header_to_metadata::v3::config::{
    KeyValuePair, Rule,
};
use envoy_types::pb::envoy::r#type::matcher::v3::RegexMatchAndSubstitute;
use sluice_ir::{HttpRoute, PathMatch, PathRewrite, Template, TemplatePart};

use crate::render::header::{append, literal, set};
use crate::render::patterns;
use crate::render::proto::extension;
use crate::render::route::rewrite::{by_template, substitute};

const METADATA: &str = "sluice.captured";
/// The path without a query, while the filters look at it.
const PATH_HEADER: &str = "x-sluice-captured";
/// Keys of metadata; those of texts have a number behind them.
const HOST: &str = "host";
const PREFIX: &str = "prefix";
const PATH: &str = "path";
const GROUP: &str = "group";

/// Sets `X-Forwarded-Prefix`. Where it comes to nothing, there is none, not the client's either.
pub(in crate::render) fn set_prefix(route: &mut Route, http_route: &HttpRoute) {
    const HEADER: &str = "x-forwarded-prefix";
    if let Some(prefix) = &http_route.forwarded_prefix {
        route.request_headers_to_remove.push(HEADER.to_owned());
        let is_said = patterns::of(&http_route.matches.path).is_some();
        let prefix = set(HEADER, &format(PREFIX, prefix, is_said));
        route.request_headers_to_add.push(prefix);
    }
}

/// The path of an upstream as a format. `is_said`: the filter has compared the pattern.
pub(in crate::render) fn path(template: &Template, is_said: bool) -> String {
    format(PATH, template, is_said)
}

/// None where a route has no such text.
pub(super) fn filters(http_route: &HttpRoute) -> Vec<TypedExtensionConfig> {
    let PathMatch::Regex(regex) = &http_route.matches.path else {
        return Vec::new();
    };
    let path = match &http_route.rewrite {
        Some(PathRewrite::Template(path)) => {
            Some(path).filter(|path| path.has_host() || regex.backtracking)
        }
        _ => None,
    };
    let prefix = http_route.forwarded_prefix.as_ref();
    let texts = [(PREFIX, prefix), (PATH, path)];
    let texts = || {
        texts
            .iter()
            .filter_map(|(key, text)| Some((*key, (*text)?)))
    };
    let captured = texts().flat_map(|(key, text)| captured(key, text));
    let captured = captured.filter(|_| !regex.backtracking);
    let of_path = captured.map(|(key, parts)| rule(PATH_HEADER, key, by_template(regex, parts)));
    let mut of_path: Vec<_> = of_path.collect();
    if let Some(last) = of_path.last_mut() {
        last.remove = true;
    }
    let has_host = texts().any(|(_, text)| text.has_host());
    let host = has_host.then(|| rule(":authority", HOST.to_owned(), host_alone()));
    let needs_path = !of_path.is_empty();
    let said = texts().flat_map(|(_, text)| &text.0);
    let said = said.filter_map(|part| said_group(part).filter(|_| regex.backtracking));
    let said = said.collect::<BTreeSet<u8>>().into_iter().map(said_rule);
    let request_rules: Vec<_> = of_path.into_iter().chain(said).chain(host).collect();
    if request_rules.is_empty() {
        return Vec::new();
    }
    let kept = extension(
        "captured",
        HeaderToMetadata {
            request_rules,
            ..HeaderToMetadata::default()
        },
    );
    if !needs_path {
        return vec![kept];
    }
    let mutations = Mutations {
        request_mutations: vec![append(set(PATH_HEADER, "%PATH(NQ:PATH)%"))],
        ..Mutations::default()
    };
    let path = HeaderMutation {
        mutations: Some(mutations),
        ..HeaderMutation::default()
    };
    vec![extension("path", path), kept]
}

/// The parts between hosts, one after the other.
fn pieces(template: &Template) -> impl Iterator<Item = &[TemplatePart]> {
    template
        .0
        .chunk_by(|a, b| (*a == TemplatePart::Host) == (*b == TemplatePart::Host))
}

/// Pieces with groups, by their keys.
fn captured<'t>(
    key: &str,
    template: &'t Template,
) -> impl Iterator<Item = (String, &'t [TemplatePart])> {
    pieces(template).enumerate().filter_map(move |(n, piece)| {
        let has_groups = piece
            .iter()
            .any(|part| matches!(part, TemplatePart::Group(_)));
        has_groups.then(|| (format!("{key}{n}"), piece))
    })
}

fn said_group(part: &TemplatePart) -> Option<u8> {
    match part {
        TemplatePart::Group(group) => Some(*group),
        TemplatePart::Text(_) | TemplatePart::Host => None,
    }
}

/// Keeps what the filter has said of a group.
fn said_rule(group: u8) -> Rule {
    Rule {
        header: patterns::group_header(group),
        on_header_present: Some(KeyValuePair {
            metadata_namespace: METADATA.to_owned(),
            key: said_key(group),
            ..KeyValuePair::default()
        }),
        ..Rule::default()
    }
}

fn said_key(group: u8) -> String {
    format!("{GROUP}{group}")
}

fn format(key: &str, template: &Template, is_said: bool) -> String {
    if is_said {
        let parts = template.0.iter().map(|part| match part {
            TemplatePart::Text(text) => literal(text),
            TemplatePart::Host => operator(HOST),
            TemplatePart::Group(group) => operator(&said_key(*group)),
        });
        return parts.collect();
    }
    let pieces = pieces(template).enumerate().map(|(n, piece)| match piece {
        [TemplatePart::Text(text)] => literal(text),
        [TemplatePart::Host, ..] => operator(HOST).repeat(piece.len()),
        _ => operator(&format!("{key}{n}")),
    });
    pieces.collect()
}

fn operator(key: &str) -> String {
    format!("%DYNAMIC_METADATA({METADATA}:{key})%")
}

fn rule(header: &str, key: String, value: RegexMatchAndSubstitute) -> Rule {
    Rule {
        header: header.to_owned(),
        on_header_present: Some(KeyValuePair {
            metadata_namespace: METADATA.to_owned(),
            key,
            regex_value_rewrite: Some(value),
            ..KeyValuePair::default()
        }),
        ..Rule::default()
    }
}

/// Without the port, and nothing that is no name of a host.
fn host_alone() -> RegexMatchAndSubstitute {
    substitute(r"(?s)^([A-Za-z0-9._-]*).*$", r"\1".to_owned())
}
