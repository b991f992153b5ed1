//! Judgement of a snippet that is not served: are its paths closed, and what is there in its place?

pub(super) mod harmless;
pub(super) mod harmless_headers;
pub(super) mod mod_security;

use sluice_syntax::excerpt;

use crate::snippet::defaults;
use crate::snippet::error::first_of;
use crate::snippet::syntax::statements::{Piece, Pieces, Statement, SyntaxError};
use crate::snippet::syntax::tree::readable_directives;
use crate::support::{DataPlane, NO_STREAM_SNIPPETS, WAF_RULES};
use harmless::{Content, Effective, SnippetContext};

/// Language of a snippet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// nginx's, for a place in its configuration.
    Nginx(SnippetContext),
    /// ModSecurity's.
    ModSecurity,
}

/// Names the alternatives to directives; empty where there are none. A function, because the catalogue of annotations depends on this
/// module.
pub(crate) type Alternatives = fn(&[Vec<String>], Option<DataPlane>, AdviceFor) -> String;

/// Facts about directives from catalogues that depend on this module.
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
    /// Advice on alternatives to it.
    pub(crate) advice: String,
    /// Reason why its paths are closed, if they are.
    pub(crate) closing: Option<String>,
    /// It sets only defaults.
    pub(crate) is_default: bool,
}

/// Language of the snippet in an annotation or a key of the ConfigMap; `None`: it has no snippet.
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

/// Judges a snippet: it closes its paths, unless everything in it is known to restrict no access.
pub(crate) fn judge(
    text: &str,
    language: Language,
    effective: Effective,
    data_plane: Option<DataPlane>,
    alternatives: Alternatives,
) -> Judgement {
    let (directives, found) = match language {
        Language::Nginx(place) => (readable_directives(text), closing(text, place, effective)),
        Language::ModSecurity => (
            Vec::new(),
            mod_security::closing(text)
                .into_iter()
                .map(|(name, line)| Guard::Directive(name, line))
                .collect(),
        ),
    };
    let advice = match (
        language,
        alternatives(&directives, data_plane, AdviceFor::Ingresses),
    ) {
        (Language::ModSecurity, _) => format!("use {WAF_RULES}"),
        // Those of http mean something else there.
        (Language::Nginx(SnippetContext::Stream), _) => NO_STREAM_SNIPPETS.to_owned(),
        (_, none) if none.is_empty() => "no raw nginx configuration".to_owned(),
        (_, instead) => format!("no raw nginx configuration; use {instead}"),
    };
    let closing = (!found.is_empty()).then(|| {
        let shown = first_of(found.iter().map(Guard::shown), ", ", " and ");
        format!("{shown} may be access control, which cannot be enforced")
    });
    let is_default = matches!(language, Language::Nginx(_)) && defaults::are_all(text);
    Judgement {
        advice,
        closing,
        is_default,
    }
}

/// Something that may guard, with its line.
enum Guard {
    Directive(String, usize),
    /// nginx would refuse the line: what is there and behind it is not known.
    Unreadable(usize),
}

impl Guard {
    fn shown(&self) -> String {
        match self {
            Guard::Directive(name, line) => format!("`{}` (line {line})", excerpt(name)),
            Guard::Unreadable(line) => {
                format!("a directive that cannot be read (line {line})")
            }
        }
    }
}

/// All that may guard, in the order of its lines.
fn closing(text: &str, place: SnippetContext, effective: Effective) -> Vec<Guard> {
    let mut open: Vec<Content> = Vec::new();
    let mut found = Vec::new();
    let mut server = OpenServer::default();
    let mut line = 1;
    for piece in Pieces::new(text) {
        match piece {
            Err(SyntaxError { line, .. }) => {
                found.push(Guard::Unreadable(line));
                return found;
            }
            Ok(Piece::End) => match open.pop() {
                None => {
                    found.push(Guard::Unreadable(line));
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
                    found.push(Guard::Directive(name.clone(), line));
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
        found.push(Guard::Unreadable(line));
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
    fn end(&self) -> Option<Guard> {
        let is_elsewhere = self.listens > 0 && self.elsewhere == self.listens;
        (!is_elsewhere).then(|| Guard::Directive("server".to_owned(), self.line))
    }
}

#[cfg(test)]
mod tests;
