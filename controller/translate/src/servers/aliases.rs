//! Other names of hosts: `server-alias`. The first Ingress of the host's own namespace that has some decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::{ReasonCode, ServerName};
use sluice_translate_engine::{ObjectRef, Report, Reporter, WildcardHolder, listed};

use super::Assembly;
use super::path_rule::IngressContext;
use super::server_builder::ServerBuilder;
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
    /// Those that the Ingress gets that is being read, whatever the host. It hears once of the others.
    available: Option<(ObjectRef, Arc<[Alias]>)>,
}

/// Hosts that an Ingress wants to have another name which is taken, by the Ingress, the name and the reason.
type Unused = BTreeMap<(ObjectRef, ServerName, String), Vec<ServerName>>;

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
    /// after a wildcard host. The used ones, by host.
    pub(super) fn used(
        self,
        servers: &BTreeMap<ServerName, ServerBuilder>,
        reports: &mut Vec<Report>,
    ) -> BTreeMap<ServerName, Vec<ServerName>> {
        let mut by_host: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut used: BTreeMap<ServerName, (ObjectRef, ServerName)> = BTreeMap::new();
        let mut unused = Unused::new();
        let Aliases { mut asked, .. } = self;
        asked.sort_by_key(|(alias, _, _)| alias.by_pattern);
        for (alias, host, owner) in asked {
            let Alias {
                name: alias,
                by_pattern,
            } = alias;
            let wildcard = alias.wildcard_suffix().map(ServerName::Wildcard);
            let is_covered = |wildcard: &ServerName| by_pattern && servers.contains_key(wildcard);
            let claimed = if let Some((other, first)) = used.get(&alias) {
                let by = match *other == owner {
                    true => format!("host {first}"),
                    false => other.to_string(),
                };
                Some(format!(
                    "name {alias} already claimed by server-alias of {by}"
                ))
            } else if servers.contains_key(&alias) {
                Some(format!("name {alias} already claimed as a host"))
            } else {
                wildcard
                    .filter(is_covered)
                    .map(|wildcard| before_patterns(&alias, &wildcard))
            };
            if let Some(reason) = claimed {
                let key = (owner, alias, reason);
                unused.entry(key).or_default().push(host);
            } else if servers.contains_key(&host) {
                used.insert(alias.clone(), (owner, host.clone()));
                by_host.entry(host).or_default().push(alias);
            }
        }
        report_unused(unused, &used, reports);
        by_host
    }
}

/// Once for each name of an Ingress; with the hosts where another host of the Ingress has the name.
fn report_unused(
    unused: Unused,
    used: &BTreeMap<ServerName, (ObjectRef, ServerName)>,
    reports: &mut Vec<Report>,
) {
    for ((owner, alias, reason), hosts) in unused {
        let is_own = used.get(&alias).is_some_and(|(other, _)| *other == owner);
        let consequence = match is_own {
            true => format!("{NOT_USED} for {}", listed(hosts.iter(), hosts.len())),
            false => NOT_USED.to_owned(),
        };
        Reporter::new(owner, reports).warn_unchanged(
            ReasonCode::Conflicted,
            FIELD,
            reason,
            consequence,
        );
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
        for alias in self.available_aliases(context).iter() {
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

    fn available_aliases(&mut self, context: &IngressContext) -> Arc<[Alias]> {
        if let Some((object, available)) = &self.aliases.available
            && *object == context.object
        {
            return Arc::clone(available);
        }
        let all = context.annotations.host.aliases.iter();
        let available = all.filter(|alias| {
            !self.yield_reserved_name(&alias.name, context, FIELD, NOT_USED)
                && !self.yield_to_wildcard(alias, context)
        });
        let available: Arc<[Alias]> = available.cloned().collect();
        self.aliases.available = Some((context.object.clone(), Arc::clone(&available)));
        available
    }

    /// nginx has a pattern after wildcards, so a name of one is left to the wildcard of another Ingress of the namespace. Names under
    /// another namespace's are [`Self::yield_reserved_name`]'s.
    fn yield_to_wildcard(&mut self, alias: &Alias, context: &IngressContext) -> bool {
        let Some(suffix) = alias.name.wildcard_suffix().filter(|_| alias.by_pattern) else {
            return false;
        };
        let own = &context.object.key;
        let holder = self.wildcards.get(&suffix).map(WildcardHolder::key);
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
