//! Web application firewall: files of rules for ModSecurity's module, and where nginx.conf names them.
//!
//! ```text
//!   http {}      the audit log, rules of all routes ----------\
//!     server {}  what all its routes with a firewall have -----+--> each location has all rules around it, behind its own
//!       location {}  modsecurity on, rules of its own --------/
//! ```
//!
//! The module parses a file for each directive that names it, and the core rules take 17 MB and 0.2 s each time. `sharing.rs`
//! says where they are named, `removal.rs` how a location is spared those around it.

mod firewalls;
mod removal;
mod sharing;

use sluice_ir::{GlobalConfig, Server, Waf};

use crate::conf::{Word, word};
use crate::files::RULES;
use crate::files::names::hash;
use crate::settings::{ModSecurity, Settings};

pub(crate) use firewalls::Firewalls;
pub(crate) use sharing::{Place, Sharing};

/// ModSecurity's recommended settings.
pub const RECOMMENDED: &str = include_str!("../../templates/waf/recommended.conf");

/// A file of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RulesFile {
    name: String,
    text: String,
}

/// Rules around a location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<'a> {
    pub(crate) sharing: &'a Sharing,
    pub(crate) place: &'a Place,
    /// The operator's, for all.
    pub(crate) everywhere: Option<&'a Waf>,
}

/// Files that a `location {}` names.
pub(crate) fn of_location(waf: &Waf, around: Around<'_>, settings: &Settings) -> Vec<Word> {
    let module = settings.modsecurity.as_ref();
    let files = module.map(|module| of_route(waf, around, module));
    words(&files.unwrap_or_default(), settings)
}

/// Files that `http {}` names.
pub(crate) fn around_all(
    sharing: &Sharing,
    global: &GlobalConfig,
    settings: &Settings,
) -> Vec<Word> {
    let module = settings.modsecurity.as_ref();
    let files = module.map(|module| of_all(sharing, global, module, settings));
    words(&files.unwrap_or_default(), settings)
}

/// Files that a `server {}` names.
pub(crate) fn around_server(place: &Place, settings: &Settings) -> Vec<Word> {
    let module = settings.modsecurity.as_ref();
    let files = module.map(|module| of_server(place, module));
    words(&files.unwrap_or_default(), settings)
}

fn of_all(
    sharing: &Sharing,
    global: &GlobalConfig,
    module: &ModSecurity,
    settings: &Settings,
) -> Vec<RulesFile> {
    if !sharing.is_used {
        return Vec::new();
    }
    let core_rules = sharing.core_rules.then(|| core_rules(module)).flatten();
    // Those of locations come before what the operator has for all, also here.
    let come_last = global.waf.is_none() || sharing.all_have_core_rules;
    let (first, last) = if come_last {
        (None, core_rules)
    } else {
        (core_rules, None)
    };
    let own = global.waf.as_ref().and_then(|waf| own(waf, ""));
    std::iter::once(RulesFile::new(engine(module, settings)))
        .chain(first)
        .chain(own)
        .chain(sharing.recommended.then(recommended))
        .chain(last)
        .collect()
}

fn of_server(place: &Place, module: &ModSecurity) -> Vec<RulesFile> {
    let recommended = place.recommended.then(recommended);
    let core_rules = place.core_rules.then(|| core_rules(module)).flatten();
    recommended.into_iter().chain(core_rules).collect()
}

/// Its own rules come first, as those around it come behind.
fn of_route(waf: &Waf, around: Around<'_>, module: &ModSecurity) -> Vec<RulesFile> {
    let Around { sharing, place, .. } = around;
    let has_core_rules = sharing.core_rules || place.core_rules;
    let exception = match has_core_rules && !waf.core_rules && !sharing.all_have_core_rules {
        true => removal::without_core_rules(waf, around.everywhere),
        false => String::new(),
    };
    let own = own(waf, &exception);
    let is_missing = waf.recommended && !sharing.recommended && !place.recommended;
    let recommended = is_missing.then(recommended);
    let is_missing = waf.core_rules && !has_core_rules;
    let core_rules = is_missing.then(|| core_rules(module)).flatten();
    own.into_iter()
        .chain(recommended)
        .chain(core_rules)
        .collect()
}

fn own(waf: &Waf, before: &str) -> Option<RulesFile> {
    let lines = waf.rules.iter().map(|rule| format!("{rule}\n"));
    let text: String = std::iter::once(before.to_owned()).chain(lines).collect();
    (!text.is_empty()).then(|| RulesFile::new(text))
}

fn recommended() -> RulesFile {
    RulesFile::new(RECOMMENDED.to_owned())
}

/// `None`: they are not installed.
fn core_rules(module: &ModSecurity) -> Option<RulesFile> {
    let lines = module.core_rules.iter();
    let text: String = lines
        .map(|path| format!("Include {}\n", path.display()))
        .collect();
    (!text.is_empty()).then(|| RulesFile::new(text))
}

/// The audit log is JSON, a line each, until rules say otherwise.
fn engine(module: &ModSecurity, settings: &Settings) -> String {
    let mut lines = vec!["SecAuditLogFormat JSON".to_owned()];
    if let Some(log) = &settings.access_log {
        lines.push("SecAuditLogType Serial".to_owned());
        lines.push(format!("SecAuditLog {}", log.output.display()));
    }
    if let Some(map) = &module.unicode_map {
        lines.push(format!("SecUnicodeMapFile {} 20127", map.display()));
    }
    lines.join("\n") + "\n"
}

fn words(files: &[RulesFile], settings: &Settings) -> Vec<Word> {
    let path = |file: &RulesFile| word(settings.certificates().join(&file.name).display());
    files.iter().map(path).collect()
}

/// Firewalls of a server.
fn wafs(server: &Server) -> impl Iterator<Item = &Waf> {
    let routes = server.routes.iter();
    routes.filter_map(|route| route.policy.waf.as_ref())
}

impl RulesFile {
    /// Its name has its content in it: another content is another configuration.
    fn new(text: String) -> Self {
        RulesFile {
            name: format!("waf-{}{RULES}", hash(&text)),
            text,
        }
    }
}
