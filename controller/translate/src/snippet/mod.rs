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
mod block;
mod compile;
mod conditions;
mod defaults;
mod error;
mod filters;
mod harmless;
mod headers;
mod locations;
mod media_type;
mod mod_security;
mod responses;
mod statements;
mod tree;
mod variables;

pub(crate) use auth_request::AuthRequest;
pub(crate) use block::Block;
pub(crate) use compile::{CompileOptions, Compiled, compile};
pub(crate) use conditions::Comparable;
pub(crate) use error::SnippetError;
pub use harmless::harmless_directives;
pub(crate) use harmless::{Effective, SnippetContext};
pub(crate) use locations::{Location, LocationPath, MAX_LOCATIONS};
pub(crate) use mod_security::closing as closing_rules;
pub(crate) use responses::{MAX_CONDITIONS, MAX_DIRECTIVES, MAX_RESPONSES};

use sluice_syntax::shortened;

use crate::support::{DataPlane, NO_WAF};
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
pub(crate) type Alternatives = fn(&[String], Option<DataPlane>) -> String;

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
    let (names, found) = match language {
        Language::Nginx(place) => (names(text), closing(text, place, effective)),
        Language::ModSecurity => (Vec::new(), mod_security::closing(text)),
    };
    let advice = match (language, alternatives(&names, data_plane)) {
        (Language::ModSecurity, _) => NO_WAF.to_owned(),
        (_, none) if none.is_empty() => "no raw nginx configuration".to_owned(),
        (_, instead) => format!("no raw nginx configuration; use {instead}"),
    };
    let closing = found.map(|(directive, line)| {
        let shown = shortened(&directive);
        format!("{shown:?} (line {line}) may be access control, which cannot be enforced")
    });
    let is_default = matches!(language, Language::Nginx(_)) && defaults::are_all(text);
    Judgement {
        advice,
        closing,
        is_default,
    }
}

/// All directives, as far as they can be read.
fn names(text: &str) -> Vec<String> {
    let pieces = Pieces::new(text).map_while(Result::ok);
    let names = pieces.filter_map(|piece| match piece {
        Piece::Statement(Statement { words, .. }) => words.into_iter().next(),
        Piece::End => None,
    });
    names.collect()
}

/// The first directive that may guard, and its line.
fn closing(text: &str, place: SnippetContext, effective: Effective) -> Option<(String, usize)> {
    let mut open: Vec<Content> = Vec::new();
    let mut line = 1;
    for piece in Pieces::new(text) {
        match piece {
            Err(SyntaxError { line }) => {
                return Some(("text that nginx does not take".to_owned(), line));
            }
            Ok(Piece::End) if open.pop().is_none() => return Some(("}".to_owned(), line)),
            Ok(Piece::End) => {}
            Ok(Piece::Statement(statement)) => {
                line = statement.line;
                let is_entry = open.last() == Some(&Content::Entries);
                let name = statement.words.first().cloned().unwrap_or_default();
                if !is_entry && !harmless::is_harmless(&statement, place, effective) {
                    return Some((name, line));
                }
                if statement.opens {
                    let block = harmless::block(&name, place).filter(|_| !is_entry);
                    open.push(block.unwrap_or(Content::Entries));
                }
            }
        }
    }
    (!open.is_empty()).then(|| ("{".to_owned(), line))
}

#[cfg(test)]
mod tests;
