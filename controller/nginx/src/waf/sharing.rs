//! Rules that are parsed once for many locations.
//!
//! A location has all rules around it. So what all have is around all; and the core rules are around locations that do not have them,
//! too, where that takes less memory than to parse them for each server: such locations remove them ([`removal`]). Nobody sees a
//! difference: where one would be, each location has its own.

use sluice_ir::{GlobalConfig, Server, Waf};

use super::{removal, wafs};
use crate::settings::ModSecurity;

/// KB of the core rules, each time they are parsed.
const PARSED_KB: usize = 17_000;
/// KB of a location that has them around it.
const AROUND_KB: usize = 25;

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
    pub(super) fn new(
        servers: &[&Server],
        routes: usize,
        global: &GlobalConfig,
        module: Option<&ModSecurity>,
    ) -> Self {
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
            core_rules: operator_has || is_cheaper && can_share(all(), everywhere, module),
            all_have_core_rules: operator_has,
        }
    }

    /// Rules around the locations of a server, beside those around all.
    pub(crate) fn server(
        &self,
        server: &Server,
        global: &GlobalConfig,
        module: Option<&ModSecurity>,
    ) -> Place {
        let mut all = wafs(server).peekable();
        if all.peek().is_none() {
            return Place::default();
        }
        let count = wafs(server).filter(|waf| waf.core_rules).count();
        Place {
            recommended: !self.recommended && all.all(|waf| waf.recommended),
            core_rules: !self.core_rules
                && count > 1
                && can_share(wafs(server), global.waf.as_ref(), module),
        }
    }
}

/// True if those that do not have the core rules fare with them as without.
fn can_share<'a>(
    wafs: impl Iterator<Item = &'a Waf>,
    everywhere: Option<&'a Waf>,
    module: Option<&ModSecurity>,
) -> bool {
    let core_ids = module.and_then(|module| module.core_ids.as_ref());
    let mut others = wafs.filter(|waf| !waf.core_rules).peekable();
    others.peek().is_none()
        || others
            .chain(everywhere)
            .all(|waf| removal::is_unaffected(waf, core_ids))
}
