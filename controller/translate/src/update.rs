//! Bringing a translation up to date, at the cost of what changed.
//!
//! ```text
//!   changed objects --islands.rs--> islands that have to do with them
//!        those are taken back, their Ingresses grouped anew and assembled (servers/)
//!   ledger.rs   --> ports of Services about which something else is said now --> backends, canaries
//!   changed endpoints, changed backends --> missing pods
//!        whatever these reach: islands are finished again (finish.rs)
//! ```
//!
//! A translation of everything is the update of an empty one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{BackendId, SecretId, Server, ServerName, Shared};

use crate::annotations::Context;
use crate::backends::{Turn, Uses, resolve};
use crate::claims::{Seniority, age};
use crate::finish::{finished, is_dead};
use crate::ground::{Ground, Whose};
use crate::islands::{Island, IslandId};
use crate::object::key_of;
use crate::references::Seen;
use crate::report::Reporter;
use crate::resources::Changes;
use crate::secrets::Secrets;
use crate::servers::{self, Assembled, components, names};
use crate::streams::streams;
use crate::translation::{OfFlags, Updated};
use crate::{Kind, ObjectKey, ObjectRef, Options, Resources, Severity, Translation};

/// An Ingress of ours, in its place, and the servers that it names.
type Member<'a> = ((Seniority, &'a Ingress), BTreeSet<ServerName>);

impl Translation {
    /// Brings this translation of `resources`, as they were before these changes, up to date. What comes out is the same,
    /// to the byte, as translating everything.
    pub fn update(&mut self, changes: &Changes, resources: &Resources, options: &Options) -> Updated {
        let mut updated = Updated::default();
        let mut stale = BTreeSet::new();
        if changes.is_everything() || !changes.objects().is_empty() {
            let ground = Ground::of(resources, options);
            updated.everything = changes.is_everything() || ground != self.ground;
            if updated.everything {
                let before = std::mem::replace(self, Translation::on(ground)).config;
                updated.servers = before.servers.into_iter().map(|(name, was)| (name, Some(was))).collect();
                updated.backends = before.backends.into_iter().map(|(id, was)| (id, Some(was))).collect();
                stale = self.renew(resources.ingresses.keys().cloned().collect(), resources, options);
            } else {
                stale = self.renew_what_saw(changes.objects(), &mut updated, resources, options);
            }
            self.take_flags(resources, options);
        }
        let of_stale = stale.iter().filter_map(|id| self.islands.get(*id));
        updated.ingresses = of_stale.map(|island| island.ingresses.len()).sum();
        let services = changes.objects().iter().filter(|object| object.kind == Kind::Service);
        let services = services.map(|service| &service.key).chain(changes.endpoints());
        let backends = services.flat_map(|service| self.ledger.of_service(service)).cloned().collect();
        self.settle(&mut updated, stale, backends, resources, options);
        updated
    }

    /// Nothing but what all stand on.
    pub(crate) fn on(ground: Ground) -> Self {
        let mut translation = Translation::default();
        translation.config.edge = ground.edge();
        for (rank, named) in &ground.named {
            translation.ledger.name(rank.clone(), named.clone());
        }
        Translation { ground, ..translation }
    }

    /// Translates the islands again that these objects have to do with, and names the new ones.
    fn renew_what_saw(
        &mut self,
        objects: &BTreeSet<ObjectRef>,
        updated: &mut Updated,
        resources: &Resources,
        options: &Options,
    ) -> BTreeSet<IslandId> {
        let ingresses = objects.iter().filter(|object| object.kind == Kind::Ingress);
        let mut members: BTreeSet<ObjectKey> = ingresses.map(|object| object.key.clone()).collect();
        let mut stale: BTreeSet<IslandId> =
            objects.iter().flat_map(|object| self.islands.of_object(object)).collect();
        let now = members.iter().filter_map(|key| resources.ingresses.get(key));
        let ours = now.filter(|ingress| matches!(self.ground.judge(ingress, options), Whose::Ours));
        stale.extend(ours.flat_map(|ingress| names(ingress)).filter_map(|name| self.islands.of_name(&name)));
        for id in stale {
            members.extend(self.withdraw(id, updated));
        }
        self.renew(members, resources, options)
    }

    /// Groups these Ingresses, none of which is on an island, and translates them.
    fn renew(
        &mut self,
        members: BTreeSet<ObjectKey>,
        resources: &Resources,
        options: &Options,
    ) -> BTreeSet<IslandId> {
        let mut ours: Vec<Member<'_>> = Vec::new();
        for key in members {
            self.foreign.remove(&key);
            let Some(ingress) = resources.ingresses.get(&key) else { continue };
            match self.ground.judge(ingress, options) {
                Whose::Ours => ours.push((((false, age(ingress)), ingress.as_ref()), names(ingress))),
                Whose::Theirs(report) => drop(self.foreign.insert(key, report)),
                Whose::Unwatched => {}
            }
        }
        ours.sort_by(|((a, _), _), ((b, _), _)| a.cmp(b));
        let mut groups = components(ours);
        let names_it = |(_, names): &Member<'_>| names.contains(&ServerName::CatchAll);
        if self.islands.of_name(&ServerName::CatchAll).is_none() && !groups.iter().flatten().any(names_it) {
            groups.push(Vec::new());
        }
        let new = groups.into_iter().map(|group| {
            let with_catch_all = group.is_empty() || group.iter().any(names_it);
            self.settle_island(group, with_catch_all, resources, options)
        });
        new.collect()
    }

    /// Translates Ingresses that have to do with each other.
    pub(crate) fn settle_island(
        &mut self,
        members: Vec<Member<'_>>,
        with_catch_all: bool,
        resources: &Resources,
        options: &Options,
    ) -> IslandId {
        let seen = Seen::of(resources);
        let context = Context { seen: &seen, options, globals: &self.ground.globals };
        let ingresses = members.iter().map(|((_, ingress), _)| key_of(&ingress.metadata)).collect();
        let mut names: BTreeSet<ServerName> = members.iter().flat_map(|(_, names)| names).cloned().collect();
        names.extend(with_catch_all.then_some(ServerName::CatchAll));
        let fallback = self.ground.fallback.as_ref();
        let members = members.into_iter().map(|(member, _)| member);
        let assembled = servers::assemble(members, with_catch_all, fallback, context);
        let Assembled { servers, owners, error_services, tls, passthrough, named, offers, secrets, reports } =
            assembled;
        debug_assert!(servers.keys().chain(tls.keys()).all(|name| names.contains(name)), "{names:?}");
        let mut said = Vec::new();
        for (rank, named) in named {
            said.push((named.id.service_port(), rank.clone()));
            self.ledger.name(rank, named);
        }
        for (rank, offer) in offers {
            said.push((offer.main.clone(), rank.clone()));
            self.ledger.offer(rank, offer);
        }
        self.owners.extend(owners);
        let servers =
            servers.into_iter().map(|(name, server)| (name, Arc::new(self.sharing(server)))).collect();
        let (secrets, looked_for) = (self.hold(secrets), seen.into_looked_for());
        let tls_names = tls.keys().cloned().collect();
        self.config.tls.extend(tls);
        self.config.passthrough.extend(passthrough);
        self.islands.insert(Island {
            ingresses,
            names: names.into_iter().collect(),
            looked_for: looked_for.into_iter().collect(),
            servers,
            tls: tls_names,
            secrets,
            error_services,
            said: said.into(),
            reports,
        })
    }

    /// Most locations ask for what the one before asked for: then it is kept once.
    fn sharing(&mut self, mut server: Server) -> Server {
        for location in &mut server.locations {
            if location.policy == self.usual {
                location.policy = Arc::clone(&self.usual);
            } else {
                self.usual = Arc::clone(&location.policy);
            }
        }
        server
    }

    /// Takes an island back, and says whose it was.
    fn withdraw(&mut self, id: IslandId, updated: &mut Updated) -> BTreeSet<ObjectKey> {
        let Some(island) = self.islands.remove(id) else { return BTreeSet::new() };
        for (port, rank) in &island.said {
            self.ledger.withdraw(port, rank);
        }
        for (name, server) in &island.servers {
            server.locations.iter().for_each(|location| drop(self.owners.remove(&location.id)));
            updated.servers.insert(name.clone(), self.config.servers.remove(name));
            if let ServerName::Exact(host) = name {
                self.config.passthrough.remove(host);
            }
        }
        island.tls.iter().for_each(|name| drop(self.config.tls.remove(name)));
        self.let_go(&island.secrets);
        island.ingresses.into_iter().collect()
    }

    /// What flags name: the certificate for hosts without one, and ports without HTTP.
    pub(crate) fn take_flags(&mut self, resources: &Resources, options: &Options) {
        let mut reports = Vec::new();
        let mut secrets = Secrets::default();
        self.config.default_certificate = None;
        if let Some(key) = &options.default_certificate {
            let found = resources.secrets.get(key).ok_or_else(|| "expected a Secret, got none".to_owned());
            match found.and_then(|secret| secret.pair()) {
                Ok(pair) => self.config.default_certificate = Some(secrets.present(key, pair)),
                Err(reason) => {
                    let object = ObjectRef { kind: Kind::Secret, key: key.clone() };
                    let consequence = "a generated certificate is presented";
                    let field = "--default-ssl-certificate";
                    Reporter::new(object, &mut reports).say(Severity::Error, field, reason, consequence);
                }
            }
        }
        let mut uses = Uses::new(&self.ground.globals.transport);
        uses.turn(Turn::Ports);
        self.config.streams = streams(resources, options, &self.ground.globals, &mut uses, &mut reports);
        let flags = OfFlags { secrets: self.hold(secrets), ports: uses.named, reports };
        let before = std::mem::replace(&mut self.flags, flags);
        self.let_go(&before.secrets);
        if before.ports != self.flags.ports {
            before
                .ports
                .iter()
                .for_each(|(rank, named)| self.ledger.withdraw(&named.id.service_port(), rank));
            let now = self.flags.ports.iter().cloned();
            now.for_each(|(rank, named)| self.ledger.name(rank, named));
        }
    }

    /// Settles what islands decide together, and finishes those that it reaches.
    pub(crate) fn settle(
        &mut self,
        updated: &mut Updated,
        mut stale: BTreeSet<IslandId>,
        mut backends: BTreeSet<BackendId>,
        resources: &Resources,
        options: &Options,
    ) {
        let settled = self.ledger.settle();
        stale.extend(settled.canaries.iter().flat_map(|port| self.islands.of_port(port)));
        backends.extend(settled.backends);
        updated.resolved = backends.len();
        for id in backends {
            let was_dead = self.config.backends.get(&id).is_none_or(|backend| is_dead(backend));
            self.refresh(&id, updated, resources, options);
            if was_dead != self.config.backends.get(&id).is_none_or(|backend| is_dead(backend)) {
                stale.extend(self.islands.watching(&id));
            }
        }
        for island in stale.into_iter().filter_map(|id| self.islands.get(id)) {
            for (name, server) in &island.servers {
                let server = finished(server, island, &self.ledger, &self.config.backends);
                set(&mut self.config.servers, &mut updated.servers, name, server);
            }
        }
    }

    fn refresh(&mut self, id: &BackendId, updated: &mut Updated, resources: &Resources, options: &Options) {
        self.backend_reports.remove(id);
        let Some(source) = self.ledger.source(id) else {
            if let Some(before) = self.config.backends.remove(id) {
                updated.backends.insert(id.clone(), Some(before));
            }
            return;
        };
        let (backend, reports) = resolve(source, resources, options);
        if !reports.is_empty() {
            self.backend_reports.insert(id.clone(), reports);
        }
        set(&mut self.config.backends, &mut updated.backends, id, Arc::new(backend));
    }

    fn hold(&mut self, secrets: Secrets) -> BTreeSet<SecretId> {
        let Secrets { values, users } = secrets;
        let ids: BTreeSet<SecretId> = values.keys().chain(users.keys()).cloned().collect();
        for id in &ids {
            *self.holders.entry(id.clone()).or_default() += 1;
        }
        self.config.secrets.extend(values);
        self.config.users.extend(users.into_iter().map(|(id, listed)| (id, listed.text)));
        ids
    }

    fn let_go(&mut self, ids: &BTreeSet<SecretId>) {
        for id in ids {
            let Some(count) = self.holders.get_mut(id) else { continue };
            *count -= 1;
            if *count == 0 {
                self.holders.remove(id);
                self.config.secrets.remove(id);
                self.config.users.remove(id);
            }
        }
    }
}

/// Sets a value and notes what was there before. What is as before stays the very same.
fn set<K: Clone + Ord, V: PartialEq>(
    all: &mut Shared<K, V>,
    before: &mut BTreeMap<K, Option<Arc<V>>>,
    key: &K,
    now: Arc<V>,
) {
    let was = before.get(key).cloned().unwrap_or_else(|| all.get(key).cloned());
    match was {
        Some(was) if *was == *now => {
            before.remove(key);
            all.insert(key.clone(), was);
        }
        was => {
            before.insert(key.clone(), was);
            all.insert(key.clone(), now);
        }
    }
}

#[cfg(test)]
mod tests;
