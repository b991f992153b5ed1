//! Snippets: nginx configuration in annotations and the ConfigMap. Their text never gets into a data plane (R1 of the security
//! rules); what the model can say becomes policies of its routes.
//!
//! ```text
//!   text --statements.rs--> directives --compile.rs--> can the model say all of them?  policies of its routes
//!                                     |--harmless.rs--> is there one that may guard?    its paths are closed
//!                                     |--defaults.rs--> is anything missing without it?  a note
//!                                     \--Alternatives-> annotations in its place         what the report says
//! ```
//!
//! A snippet is served as a whole or not at all.

mod access;
mod auth_request;
mod auth_variables;
mod bandwidth;
mod block;
mod block_headers;
mod branch;
mod captures;
mod checks;
mod comparable;
mod compile;
mod compiled;
mod conditions;
mod connections;
mod constants;
mod defaults;
mod difference;
mod error;
mod expires;
mod flags;
mod forwarded;
mod harmless;
mod harmless_headers;
mod header_changes;
mod header_variants;
mod host_groups;
mod internal;
mod location_snippet;
mod locations;
mod media_type;
mod mod_security;
mod named;
mod nested;
mod proxy_pass;
mod reserved_headers;
mod responses;
mod rewrites;
mod server_snippet;
mod shared_variables;
mod statements;
mod tree;
mod tuning;
mod upstream;
mod variables;

pub(crate) use access::{Satisfy, behind as access_behind, size as access_size};
pub(crate) use auth_request::AuthRequest;
pub(crate) use block::Block;
pub(crate) use comparable::Comparable;
pub(crate) use compile::{CompileOptions, compile, compile_behind};
pub(crate) use compiled::{Compiled, Location};
pub(crate) use constants::Constants;
pub(crate) use defaults::{are_all as are_defaults, why_without_effect};
pub(crate) use difference::Difference;
pub(crate) use error::{SnippetError, SnippetErrors, first_of};
pub(crate) use forwarded::told_by;
pub use harmless::harmless_directives;
pub(crate) use harmless::{Effective, SnippetContext};
pub(crate) use header_changes::HeaderOptions;
pub(crate) use location_snippet::{
    LocationSnippet, SnippetShare, header_size, programs as header_programs,
};
pub(crate) use locations::{LocationPath, MAX_LOCATIONS};
pub(crate) use mod_security::closing as closing_rules;
pub(crate) use named::{NamedLocation, is_name as is_location_name};
pub(crate) use proxy_pass::{ProxyPass, ProxyUpstream, REST};
pub use reserved_headers::own_headers;
pub(crate) use responses::{MAX_CONDITIONS, MAX_DIRECTIVES, MAX_RESPONSES};
pub(crate) use rewrites::{PathChange, ServerRewrite};
pub(crate) use server_snippet::ServerSnippet;
pub(crate) use shared_variables::SharedVariables;
pub(crate) use upstream::Upstream;

use std::collections::BTreeSet;

use sluice_syntax::excerpt;

use crate::support::{DataPlane, WAF_RULES};
use harmless::Content;
use statements::{Piece, Pieces, Statement, SyntaxError};

/// Language of a snippet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// nginx's, for a place in its configuration.
    Nginx(SnippetContext),
    /// ModSecurity's.
    ModSecurity,
}

/// Names the alternatives to directives; empty when there are none. The catalogues that it knows come after this module.
pub(crate) type Alternatives = fn(&[Vec<String>], Option<DataPlane>, AdviceFor) -> String;

/// Facts about directives from catalogues that come after this module.
#[derive(Clone, Copy)]
pub(crate) struct Catalogues {
    pub(crate) alternatives: Alternatives,
    /// Reason why a data plane has nothing to do for a directive.
    pub(crate) not_needed: fn(&str, Option<DataPlane>) -> Option<&'static str>,
}

/// Users of the alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdviceFor {
    /// Owners of Ingresses: annotations, and the ConfigMap.
    Ingresses,
    /// The operator, for all Ingresses: no annotations.
    ConfigMap,
}

/// Judgement of a snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// The alternative to it.
    pub(crate) advice: String,
    /// Why its paths are closed, if they are.
    pub(crate) closing: Option<String>,
    /// It says what is so without it.
    pub(crate) is_default: bool,
}

/// The language of an annotation or a key of the ConfigMap; `None`: that is no snippet.
pub(crate) fn language(name: &str) -> Option<Language> {
    Some(match name {
        "auth-snippet"
        | "configuration-snippet"
        | "global-auth-snippet"
        | "location-snippet"
        | "server-snippet" => Language::Nginx(SnippetContext::Location),
        "http-snippet" => Language::Nginx(SnippetContext::Http),
        "main-snippet" => Language::Nginx(SnippetContext::Main),
        "stream-snippet" => Language::Nginx(SnippetContext::Stream),
        "modsecurity-snippet" => Language::ModSecurity,
        _ => return None,
    })
}

/// A snippet closes its paths, unless everything in it is known to restrict no access.
pub(crate) fn judge(
    text: &str,
    language: Language,
    effective: Effective,
    data_plane: Option<DataPlane>,
    alternatives: Alternatives,
) -> Judgement {
    let (directives, found) = match language {
        Language::Nginx(place) => (directives_of(text), closing(text, place, effective)),
        Language::ModSecurity => (
            Vec::new(),
            mod_security::closing(text).into_iter().collect(),
        ),
    };
    let advice = match (
        language,
        alternatives(&directives, data_plane, AdviceFor::Ingresses),
    ) {
        (Language::ModSecurity, _) => format!("use {WAF_RULES}"),
        (_, none) if none.is_empty() => "no raw nginx configuration".to_owned(),
        (_, instead) => format!("no raw nginx configuration; use {instead}"),
    };
    let closing = (!found.is_empty()).then(|| {
        let shown = found.iter().map(|(directive, line)| {
            let shown = excerpt(directive);
            format!("`{shown}` (line {line})")
        });
        let shown = first_of(shown, ", ", " and ");
        format!("{shown} may be access control, which cannot be enforced")
    });
    let is_default = matches!(language, Language::Nginx(_)) && defaults::are_all(text);
    Judgement {
        advice,
        closing,
        is_default,
    }
}

/// Names of all variables in a text, in lower case.
pub(crate) fn variables_in(text: &str) -> BTreeSet<String> {
    let all = directives_of(text);
    let words: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
    flags::read_by(&words, |_| true).into_iter().collect()
}

/// All directives, as far as they can be read.
fn directives_of(text: &str) -> Vec<Vec<String>> {
    let pieces = Pieces::new(text).map_while(Result::ok);
    let directives = pieces.filter_map(|piece| match piece {
        Piece::Statement(Statement { words, .. }) => Some(words),
        Piece::End => None,
    });
    directives.collect()
}

/// The directives that may guard, and their lines.
fn closing(text: &str, place: SnippetContext, effective: Effective) -> Vec<(String, usize)> {
    let mut open: Vec<Content> = Vec::new();
    let mut found = Vec::new();
    let mut server = OpenServer::default();
    let mut line = 1;
    for piece in Pieces::new(text) {
        match piece {
            Err(SyntaxError { line }) => {
                found.push(("text that nginx does not take".to_owned(), line));
                return found;
            }
            Ok(Piece::End) => match open.pop() {
                None => {
                    found.push(("}".to_owned(), line));
                    return found;
                }
                Some(Content::Server) => found.extend(server.end()),
                Some(Content::Directives | Content::Entries) => {}
            },
            Ok(Piece::Statement(statement)) => {
                line = statement.line;
                let around = open.last();
                let is_entry = matches!(around, Some(Content::Entries | Content::Server));
                if around == Some(&Content::Server) {
                    server.has(&statement);
                }
                let name = statement.words.first().cloned().unwrap_or_default();
                if !is_entry && !harmless::is_harmless(&statement, place, effective) {
                    found.push((name.clone(), line));
                }
                if statement.opens {
                    // What is in a block that may guard does not matter any more.
                    let block = harmless::block(&name, place).filter(|_| !is_entry);
                    if block == Some(Content::Server) {
                        server = OpenServer {
                            line,
                            ..OpenServer::default()
                        };
                    }
                    open.push(block.unwrap_or(Content::Entries));
                }
            }
        }
    }
    if !open.is_empty() {
        found.push(("{".to_owned(), line));
    }
    found
}

/// A `server` of `http {}` whose block is read.
#[derive(Default)]
struct OpenServer {
    line: usize,
    elsewhere: usize,
    listens: usize,
}

impl OpenServer {
    fn has(&mut self, statement: &Statement) {
        let listens = statement.words.first().is_some_and(|name| name == "listen");
        self.listens += usize::from(listens);
        self.elsewhere += usize::from(harmless::listens_elsewhere(&statement.words));
    }

    /// The server, if it may guard.
    fn end(&self) -> Option<(String, usize)> {
        let is_elsewhere = self.listens > 0 && self.elsewhere == self.listens;
        (!is_elsewhere).then(|| ("server".to_owned(), self.line))
    }
}

#[cfg(test)]
mod tests;
