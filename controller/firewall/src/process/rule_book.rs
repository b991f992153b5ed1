//! Parsed rules, by their names. What many have is parsed once: the core rules take 17 MB and 0.2 s.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use sluice_modsecurity::{Library, Rules};
use sluice_nginx::{ModSecurity, RECOMMENDED_RULES};
use sluice_xds::firewall::{CommonRules, CoreRules, RuleSet};

use crate::wire::{self, Loaded, Refused};

/// Standard output: a pipe to the controller, which copies it to its own.
const AUDIT_LOG: &str = "/dev/stdout";

/// Parsed rules of a route.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) rules: Arc<Rules>,
    pub(super) set: RuleSet,
}

/// All rules that requests may name.
#[derive(Debug)]
pub(super) struct RuleBook {
    library: Result<Arc<Library>, String>,
    core_rules: Vec<PathBuf>,
    unicode_map: Option<PathBuf>,
    audit_log: bool,
    sets: RwLock<HashMap<String, Arc<Parsed>>>,
    common: Mutex<Common>,
}

/// Of what is common: parsed rules, or why they are not. And the refused sets, which are not tried again.
#[derive(Debug, Default)]
struct Common {
    parsed: BTreeMap<CommonRules, Result<Arc<Rules>, String>>,
    refused: BTreeMap<String, Refused>,
}

impl RuleBook {
    pub(super) fn new(library: Result<Arc<Library>, String>, audit_log: bool) -> Self {
        let audit_log = audit_log
            && std::fs::OpenOptions::new()
                .append(true)
                .open(AUDIT_LOG)
                .is_ok();
        RuleBook {
            library,
            core_rules: ModSecurity::core_rules(Path::is_file),
            unicode_map: ModSecurity::unicode_map(Path::is_file),
            audit_log,
            sets: RwLock::default(),
            common: Mutex::default(),
        }
    }

    pub(super) fn named(&self, name: &str) -> Option<Arc<Parsed>> {
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        sets.get(name).cloned()
    }

    /// Parses what is new, and forgets what is not among them. Requests keep the rules that they have.
    pub(super) fn load(&self, wanted: wire::Rules) -> Loaded {
        let mut loaded = Loaded {
            has_core_rules: !self.core_rules.is_empty(),
            ..Loaded::default()
        };
        let library = match &self.library {
            Ok(library) => library,
            Err(reason) => {
                loaded.no_engine = Some(reason.clone());
                return loaded;
            }
        };
        let mut common = self.common.lock().unwrap_or_else(PoisonError::into_inner);
        let common = &mut *common;
        let mut sets = HashMap::new();
        let mut refused = BTreeMap::new();
        for (name, set) in wanted.sets {
            if let Some(parsed) = self.named(&name) {
                sets.insert(name, parsed);
                continue;
            }
            let known = common.refused.remove(&name).map(Err);
            match known.unwrap_or_else(|| self.parse(&set, library, common)) {
                Ok(rules) => drop(sets.insert(
                    name,
                    Arc::new(Parsed {
                        rules: Arc::new(rules),
                        set,
                    }),
                )),
                Err(reason) => drop(refused.insert(name, reason)),
            }
        }
        let is_used = |one: &CommonRules| sets.values().any(|parsed| parsed.set.common == *one);
        common.parsed.retain(|one, _| is_used(one));
        common.refused.clone_from(&refused);
        *self.sets.write().unwrap_or_else(PoisonError::into_inner) = sets;
        loaded.refused = refused;
        loaded
    }

    /// Its own rules and settings come first, as nginx has them.
    fn parse(
        &self,
        set: &RuleSet,
        library: &Arc<Library>,
        common: &mut Common,
    ) -> Result<Rules, Refused> {
        let parse = || self.parse_common(&set.common, library).map(Arc::new);
        let shared = common
            .parsed
            .entry(set.common.clone())
            .or_insert_with(parse);
        let shared = shared.as_ref().map_err(|reason| Refused {
            reason: reason.clone(),
            is_of_all: true,
        })?;
        let own = || {
            let mut rules = empty(library)?;
            if !set.own.is_empty() {
                rules.add(&set.own)?;
            }
            rules.merge(shared)?;
            Ok(rules)
        };
        own().map_err(|reason| Refused {
            reason,
            is_of_all: false,
        })
    }

    fn parse_common(&self, common: &CommonRules, library: &Arc<Library>) -> Result<Rules, String> {
        let include = |path: &PathBuf| format!("Include {}\n", path.display());
        let core_rules: String = self.core_rules.iter().map(include).collect();
        let at = |place| common.core_rules == place;
        let mut rules = empty(library)?;
        rules.add(&self.engine())?;
        for (text, is_there) in [
            (core_rules.as_str(), at(CoreRules::First)),
            (&common.all, !common.all.is_empty()),
            (RECOMMENDED_RULES, common.recommended),
            (&core_rules, at(CoreRules::Last)),
        ] {
            if is_there {
                rules.add(text)?;
            }
        }
        Ok(rules)
    }

    /// As in nginx: the audit log is JSON, a line each, until rules say otherwise.
    fn engine(&self) -> String {
        let mut lines = vec!["SecAuditLogFormat JSON".to_owned()];
        if self.audit_log {
            lines.push("SecAuditLogType Serial".to_owned());
            lines.push(format!("SecAuditLog {AUDIT_LOG}"));
        }
        if let Some(map) = &self.unicode_map {
            lines.push(format!("SecUnicodeMapFile {} 20127", map.display()));
        }
        lines.join("\n") + "\n"
    }
}

fn empty(library: &Arc<Library>) -> Result<Rules, String> {
    Rules::new(library).ok_or_else(|| "no memory for rules".to_owned())
}
