//! Other names of hosts: `server-alias`. The first Ingress of the host's own namespace that has some decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{ReasonCode, Server, ServerName};
use sluice_translate_engine::{ObjectRef, Report, Reporter, key_of_age};

use super::Assembly;
use super::path_rule::IngressContext;
use crate::annotations::{Alias, Annotations};

const FIELD: &str = "annotation server-alias";
const NOT_USED: &str = "alias not used";

/// Aliases that were asked for so far.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// Each with the server that it is another name of, in the order in which they were asked for.
    asked: Vec<(Alias, ServerName, ObjectRef)>,
    /// The first to ask for each.
    first: BTreeMap<ServerName, ObjectRef>,
    /// The annotations that decide for each server.
    servers: BTreeMap<ServerName, Arc<Annotations>>,
}

impl Aliases {
    /// The other names of a server, once an Ingress has decided.
    pub(super) fn of_server(&self, server: &ServerName) -> Option<&[Alias]> {
        self.servers
            .get(server)
            .map(|annotations| annotations.host.aliases.as_slice())
    }

    /// The Ingress that has asked for a name first.
    pub(super) fn owner(&self, alias: &ServerName) -> Option<&ObjectRef> {
        self.first.get(alias)
    }

    /// One that another host has, by its name or as an alias before, is not used. Those of patterns come last, as in nginx, and
    /// after a wildcard host. Says which are used.
    pub(super) fn add_to(
        self,
        servers: &mut BTreeMap<ServerName, Server>,
        reports: &mut Vec<Report>,
    ) -> BTreeSet<ServerName> {
        let mut used: BTreeMap<ServerName, ObjectRef> = BTreeMap::new();
        let Aliases { mut asked, .. } = self;
        asked.sort_by_key(|(alias, _, _)| alias.by_pattern);
        for (alias, server, owner) in asked {
            let Alias {
                name: alias,
                by_pattern,
            } = alias;
            let wildcard = alias.wildcard_suffix().map(ServerName::Wildcard);
            let is_covered = |wildcard: &ServerName| by_pattern && servers.contains_key(wildcard);
            let claimed = if let Some(other) = used.get(&alias) {
                Some(format!(
                    "name {alias} already claimed by server-alias of {other}"
                ))
            } else if servers.contains_key(&alias) {
                Some(format!("name {alias} already claimed as a host"))
            } else {
                wildcard
                    .filter(is_covered)
                    .map(|wildcard| before_patterns(&alias, &wildcard))
            };
            if let Some(reason) = claimed {
                Reporter::new(owner, reports).warn_unchanged(
                    ReasonCode::Conflicted,
                    FIELD,
                    reason,
                    NOT_USED,
                );
            } else if let Some(server) = servers.get_mut(&server) {
                used.insert(alias.clone(), owner);
                server.aliases.push(alias);
            }
        }
        used.into_keys().collect()
    }
}

impl Assembly<'_> {
    /// The catch-all server has every name that no other one has.
    pub(super) fn apply_aliases(&mut self, name: &ServerName, context: &IngressContext) {
        let aliases = &context.annotations.host.aliases;
        if *name == ServerName::CatchAll
            || aliases.is_empty()
            || self.aliases.of_server(name).is_some()
        {
            return;
        }
        self.aliases
            .servers
            .insert(name.clone(), Arc::clone(&context.annotations));
        for alias in aliases {
            if self.yield_reserved_name(&alias.name, context, FIELD, NOT_USED)
                || self.yield_to_wildcard(alias, context)
            {
                continue;
            }
            let object = context.object.clone();
            self.aliases
                .first
                .entry(alias.name.clone())
                .or_insert_with(|| object.clone());
            self.aliases
                .asked
                .push((alias.clone(), name.clone(), object));
        }
    }

    /// nginx has a pattern after wildcards, so a name of one is left to the wildcard of another Ingress of the namespace. Names under
    /// another namespace's are [`Self::yield_reserved_name`]'s.
    fn yield_to_wildcard(&mut self, alias: &Alias, context: &IngressContext) -> bool {
        let Some(suffix) = alias.name.wildcard_suffix().filter(|_| alias.by_pattern) else {
            return false;
        };
        let own = &context.object.key;
        let holder = self.wildcards.get(&suffix).map(key_of_age);
        let yields =
            holder.is_some_and(|holder| holder.namespace == own.namespace && holder != own);
        if yields {
            let reason = before_patterns(&alias.name, &ServerName::Wildcard(suffix));
            self.report(&context.object).warn_unchanged(
                ReasonCode::Conflicted,
                FIELD,
                reason,
                NOT_USED,
            );
        }
        yields
    }
}

fn before_patterns(name: &ServerName, wildcard: &ServerName) -> String {
    format!("name {name} is taken by {wildcard}, which comes before a pattern")
}
