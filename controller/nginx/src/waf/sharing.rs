//! Rules that are parsed once for many locations.
//!
//! A location has all rules around it. So what all have is around all; and the core rules are around locations that do not have them,
//! too, where that takes less memory than to parse them for each server: such locations remove them.

use sluice_ir::waf::{Action, Directive};
use sluice_ir::{GlobalConfig, Server, Waf};

use super::wafs;

/// KB of the core rules, each time they are parsed.
const PARSED_KB: usize = 17_000;
/// KB of a location that has them around it.
const AROUND_KB: usize = 25;
/// Ids that the OWASP Core Rule Set has for its own.
const CORE_IDS: (u32, u32) = (900_000, 999_999);

/// Rules around all servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// A route has a firewall.
    pub(crate) is_used: bool,
    pub(crate) recommended: bool,
    pub(crate) core_rules: bool,
    /// The operator has them for all.
    pub(crate) all_have_core_rules: bool,
}

/// Rules around the locations of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) recommended: bool,
    pub(crate) core_rules: bool,
}

impl Sharing {
    /// `routes`: of all servers, with a firewall or without.
    pub(super) fn new(servers: &[&Server], routes: usize, global: &GlobalConfig) -> Self {
        let all = || servers.iter().flat_map(|server| wafs(server));
        if all().next().is_none() {
            return Sharing::default();
        }
        let everywhere = global.waf.as_ref();
        let operator_has = everywhere.is_some_and(|waf| waf.core_rules);
        let parsed = servers
            .iter()
            .filter(|server| wafs(server).any(|waf| waf.core_rules))
            .count();
        let is_cheaper = parsed * PARSED_KB > PARSED_KB + routes * AROUND_KB;
        Sharing {
            is_used: true,
            recommended: everywhere
                .map_or_else(|| all().all(|waf| waf.recommended), |waf| waf.recommended),
            core_rules: operator_has || is_cheaper && can_share(all()),
            all_have_core_rules: operator_has,
        }
    }

    /// Rules around the locations of a server, beside those around all.
    pub(crate) fn server(&self, server: &Server) -> Place {
        let mut all = wafs(server).peekable();
        if all.peek().is_none() {
            return Place::default();
        }
        let count = wafs(server).filter(|waf| waf.core_rules).count();
        Place {
            recommended: !self.recommended && all.all(|waf| waf.recommended),
            core_rules: !self.core_rules && count > 1 && can_share(wafs(server)),
        }
    }
}

/// The core rules have default actions that let requests pass, and the engine has those of all levels: it would pass what the default
/// actions of such a location reject.
fn can_share<'a>(mut wafs: impl Iterator<Item = &'a Waf>) -> bool {
    let rejects = |waf: &Waf| {
        let defaults = waf
            .rules
            .iter()
            .filter(|rule| matches!(rule, Directive::DefaultAction(_)));
        let mut actions = defaults.flat_map(Directive::actions);
        actions.any(|action| action.is("deny") || action.is("drop") || action.is("block"))
    };
    wafs.all(|waf| waf.core_rules || !rejects(waf))
}

/// Removes the core rules that are around a location, and none of its own.
pub(super) fn without_core_rules(waf: &Waf) -> String {
    let ids = waf.rules.iter().flat_map(Directive::actions);
    let ids = ids.filter_map(|action: &Action| action.word("id")?.parse::<u32>().ok());
    let mut own: Vec<u32> = ids
        .filter(|id| (CORE_IDS.0..=CORE_IDS.1).contains(id))
        .collect();
    own.sort_unstable();
    let mut text = "SecRuleRemoveById".to_owned();
    let mut first = CORE_IDS.0;
    for id in own.into_iter().chain([CORE_IDS.1 + 1]) {
        if first < id {
            text += &format!(" {first}-{}", id - 1);
        }
        first = id + 1;
    }
    text + "\n"
}
