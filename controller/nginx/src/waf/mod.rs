//! Web application firewall: files of rules for ModSecurity's module, and where nginx.conf names them.
//!
//! ```text
//!   http {}      the audit log, rules of all routes ----------\
//!     server {}  what all its routes with a firewall have -----+--> each location has all rules around it, behind its own
//!       location {}  modsecurity on, rules of its own --------/
//! ```
//!
//! The module parses a file for each directive that names it, and the core rules take 17 MB and 0.2 s each time. `sharing.rs`
//! says where they are named.

mod firewalls;
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

/// Files that a `location {}` names.
pub(crate) fn of_location(
    waf: &Waf,
    place: &Place,
    sharing: &Sharing,
    settings: &Settings,
) -> Vec<Word> {
    let module = settings.modsecurity.as_ref();
    let files = module.map(|module| of_route(waf, place, sharing, module));
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
    let mut files = vec![RulesFile::new(engine(module, settings))];
    if let Some(waf) = &global.waf {
        files.extend(own(waf, ""));
    }
    files.extend(sharing.recommended.then(recommended));
    files.extend(sharing.core_rules.then(|| core_rules(module)).flatten());
    files
}

fn of_server(place: &Place, module: &ModSecurity) -> Vec<RulesFile> {
    let recommended = place.recommended.then(recommended);
    let core_rules = place.core_rules.then(|| core_rules(module)).flatten();
    recommended.into_iter().chain(core_rules).collect()
}

/// Its own rules come first, as those around it come behind.
fn of_route(waf: &Waf, place: &Place, sharing: &Sharing, module: &ModSecurity) -> Vec<RulesFile> {
    let has_core_rules = sharing.core_rules || place.core_rules;
    let exception = match has_core_rules && !waf.core_rules && !sharing.all_have_core_rules {
        true => sharing::without_core_rules(waf),
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
