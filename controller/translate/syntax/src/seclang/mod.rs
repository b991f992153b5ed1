//! ModSecurity's language, as far as it is understood: settings that name no file, rules over the request and its response, and
//! exceptions from rules.
//!
//! ```text
//!   text --words.rs--> directives as words --settings.rs, selection.rs--> settings, exceptions
//!                                           \--rule.rs, actions.rs------> rules
//!                                            \-order.rs-----------------> what is evaluated before the core rules
//!   files of the core rules --words.rs, installed.rs--> their ids
//! ```
//!
//! All or nothing: the first directive that is not understood is an error. Absent: everything that reads or writes a file, runs a
//! program, asks a server or keeps data for longer than a request.

mod actions;
mod installed;
mod order;
mod rule;
mod selection;
mod settings;
mod words;

use std::collections::BTreeSet;

use sluice_ir::waf::{Action, Directive};

pub use installed::core_ids;
use words::{Words, statements};

use crate::text::shortened;

/// Directives of one text.
pub const MAX_DIRECTIVES: usize = 200;
/// Bytes of one text.
pub const MAX_BYTES: usize = 64 << 10;

/// The OWASP Core Rule Set's path in ingress-nginx.
const CORE_RULES: &str = "/etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf";
/// Path of ModSecurity's recommended settings there.
const RECOMMENDED: &str = "/etc/nginx/modsecurity/modsecurity.conf";

/// A text that is understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecLang {
    /// Directives, in their order.
    pub rules: Vec<Directive>,
    /// It includes the OWASP Core Rule Set.
    pub core_rules: bool,
    /// It includes ModSecurity's recommended settings.
    pub recommended: bool,
    /// Rules follow the core rules, and are evaluated before them.
    pub is_reordered: bool,
    /// Directives about files and folders, which have no effect.
    pub ignored: BTreeSet<&'static str>,
}

/// Something that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecLangError {
    /// The line, from 1.
    pub line: usize,
    /// Reason.
    pub reason: String,
}

/// Parses a text as ingress-nginx has it: in nginx's single quotes.
pub fn parse(text: &str) -> Result<SecLang, SecLangError> {
    if text.len() > MAX_BYTES {
        let reason = format!("expected at most {MAX_BYTES} bytes, got {}", text.len());
        return Err(SecLangError { line: 1, reason });
    }
    let mut parsed = SecLang::default();
    let mut ids = BTreeSet::new();
    let mut is_chained = false;
    let mut last_line = 1;
    for statement in statements(&words::unquoted(text)) {
        let statement = statement?;
        let line = statement.line;
        let error = |reason| SecLangError { line, reason };
        last_line = line;
        let after_core = parsed.core_rules;
        let taken = parsed.take(&statement).map_err(|reason| {
            let name = shortened(&statement.name);
            error(format!("{name}: {reason}"))
        });
        if let Some(directive) = taken? {
            check_id(&directive, is_chained, &mut ids).map_err(error)?;
            if is_chained && actions::are_disruptive(directive.actions()) {
                let reason =
                    "expected nothing that rejects or passes behind the first rule of a chain";
                return Err(error(reason.to_owned()));
            }
            is_chained = is_chain(&directive) && matches!(directive, Directive::Rule(_));
            if after_core {
                order::check(&directive).map_err(error)?;
                parsed.is_reordered |= order::is_evaluated(&directive);
            }
            parsed.rules.push(directive);
        }
        if parsed.rules.len() > MAX_DIRECTIVES {
            return Err(error(format!(
                "expected at most {MAX_DIRECTIVES} directives"
            )));
        }
    }
    match is_chained {
        false => Ok(parsed),
        true => Err(SecLangError {
            line: last_line,
            reason: "expected a rule behind chain, got nothing".to_owned(),
        }),
    }
}

impl SecLang {
    /// Differences from what is written, each for people to read.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let (folders, logs): (Vec<_>, Vec<_>) = self
            .ignored
            .iter()
            .copied()
            .partition(|name| settings::is_folder(name));
        let mut all = Vec::new();
        if !logs.is_empty() {
            let logs = logs.join(", ");
            all.push(format!("{logs}: the audit log goes to --access-log"));
        }
        if !folders.is_empty() {
            let folders = folders.join(", ");
            all.push(format!(
                "{folders}: no effect: files of the engine are where Sluice has them"
            ));
        }
        if self.is_reordered {
            all.push("rules behind the core rules are evaluated before them".to_owned());
        }
        all
    }

    /// `None`: there is nothing to render.
    fn take(&mut self, statement: &Words) -> Result<Option<Directive>, String> {
        let name = statement.name.as_str();
        let words = &statement.words;
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if let Some(known) = settings::ignored(name) {
            self.ignored.insert(known);
            return Ok(None);
        }
        if is("Include") {
            return self.include(&plain(words)).map(|()| None);
        }
        if is("SecRule") {
            return rule::rule(words).map(Directive::Rule).map(Some);
        }
        if is("SecAction") {
            return Ok(Some(Directive::Action(one_list(words)?)));
        }
        if is("SecDefaultAction") {
            let list = one_list(words)?;
            let phase = actions::default_phase(&list)?;
            let has_one = |directive: &Directive| {
                let defaults = matches!(directive, Directive::DefaultAction(_));
                let mut actions = directive.actions().iter();
                defaults && actions.any(|action| action.word("phase") == Some(&phase))
            };
            if self.rules.iter().any(has_one) {
                return Err("expected one for each phase".to_owned());
            }
            return Ok(Some(Directive::DefaultAction(list)));
        }
        if let Some(parsed) = selection::directive(name, words) {
            return parsed.map(Some);
        }
        settings::setting(name, &plain(words)).map(Some)
    }

    fn include(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            [CORE_RULES] => self.core_rules = true,
            [RECOMMENDED] if self.rules.is_empty() => self.recommended = true,
            [RECOMMENDED] => return Err("it has to come before all rules".to_owned()),
            _ => return Err(format!("expected {CORE_RULES} or {RECOMMENDED}")),
        }
        Ok(())
    }
}

/// Words without their quotes.
fn plain(words: &[words::Word]) -> Vec<&str> {
    words.iter().map(|word| word.text.as_str()).collect()
}

fn one_list(words: &[words::Word]) -> Result<Vec<Action>, String> {
    match words {
        [list] => actions::list(&list.text),
        _ => Err("expected one list of actions".to_owned()),
    }
}

fn is_chain(directive: &Directive) -> bool {
    directive.actions().iter().any(|action| action.is("chain"))
}

/// A rule has an id of its own, unless it belongs to the one before it.
fn check_id(
    directive: &Directive,
    is_chained: bool,
    ids: &mut BTreeSet<String>,
) -> Result<(), String> {
    if is_chained && !matches!(directive, Directive::Rule(_)) {
        return Err("expected a rule behind chain".to_owned());
    }
    let needs_one = matches!(directive, Directive::Rule(_) | Directive::Action(_)) && !is_chained;
    let mut own = directive
        .actions()
        .iter()
        .filter_map(|action| action.word("id"));
    match (own.next(), own.next()) {
        (_, Some(_)) => Err("expected one id, got several".to_owned()),
        (None, None) if needs_one => Err("expected an id".to_owned()),
        (None, None) => Ok(()),
        (Some(_), None) if !needs_one => Err("expected no id".to_owned()),
        (Some(id), None) if ids.insert(id.to_owned()) => Ok(()),
        (Some(id), None) => Err(format!("id {id} is used twice")),
    }
}

#[cfg(test)]
mod tests;
