//! Other names of hosts: `server-alias`. The first Ingress of the host's own namespace that has some decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{ReasonCode, Server, ServerName};
use sluice_translate_engine::{ObjectRef, Report, Reporter};

use super::Assembly;
use super::path_rule::IngressContext;
use crate::annotations::Annotations;

const FIELD: &str = "annotation server-alias";
const NOT_USED: &str = "alias not used";

/// Aliases that were asked for so far.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    /// Each with the server that it is another name of, in the order in which they were asked for.
    asked: Vec<(ServerName, ServerName, ObjectRef)>,
    /// The first to ask for each.
    first: BTreeMap<ServerName, ObjectRef>,
    /// The annotations that decide for each server.
    servers: BTreeMap<ServerName, Arc<Annotations>>,
}

impl Aliases {
    /// The other names of a server, once an Ingress has decided.
    pub(super) fn of_server(&self, server: &ServerName) -> Option<&[ServerName]> {
        self.servers
            .get(server)
            .map(|annotations| annotations.host.aliases.as_slice())
    }

    /// The Ingress that has asked for a name first.
    pub(super) fn owner(&self, alias: &ServerName) -> Option<&ObjectRef> {
        self.first.get(alias)
    }

    /// One that another host has, by its name or as an alias before, is not used. Says which are.
    pub(super) fn add_to(
        self,
        servers: &mut BTreeMap<ServerName, Server>,
        reports: &mut Vec<Report>,
    ) -> BTreeSet<ServerName> {
        let mut used = BTreeSet::new();
        let Aliases { asked, first, .. } = self;
        for (alias, server, owner) in asked {
            if servers.contains_key(&alias) || used.contains(&alias) {
                let reason = match first.get(&alias).filter(|_| used.contains(&alias)) {
                    Some(first) => {
                        format!("name {alias} already claimed by server-alias of {first}")
                    }
                    None => format!("name {alias} already claimed as a host"),
                };
                Reporter::new(owner, reports).warn_unchanged(
                    ReasonCode::Conflicted,
                    FIELD,
                    reason,
                    NOT_USED,
                );
            } else if let Some(server) = servers.get_mut(&server) {
                used.insert(alias.clone());
                server.aliases.push(alias);
            }
        }
        used
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
            if self.yield_reserved_name(alias, context, FIELD, NOT_USED) {
                continue;
            }
            let object = context.object.clone();
            self.aliases
                .first
                .entry(alias.clone())
                .or_insert_with(|| object.clone());
            self.aliases
                .asked
                .push((alias.clone(), name.clone(), object));
        }
    }
}
