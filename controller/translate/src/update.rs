//! Bringing a translation up to date, at the cost of what changed.
//!
//! ```text
//!   changed objects --components.rs--> route groups that have to do with them
//!        those are taken back, their Ingresses grouped anew and assembled (servers/)
//!   backend_registry.rs   --> ports of Services about which something else is said now --> backends, canaries
//!   changed endpoints, changed backends --> missing pods
//!        whatever these reach: canaries are overlaid again (overlay_canaries.rs)
//! ```
//!
//! A translation of everything is the update of an empty one.

mod backends;
mod flags;
mod held;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{Backend, BackendId, Server, ServerName, Shared};

use crate::annotations::Context;
use crate::backends::{BackendRef, Precedence};
use crate::claims::{Seniority, age};
use crate::components::{RouteGroup, RouteGroupId};
use crate::object_ref::key_of;
use crate::own::{self, Judge};
use crate::references::DependencyTracker;
use crate::resources::Changes;
use crate::servers::{self, Assembled, CanaryCandidate, components, names};
use crate::shared_inputs::{ClassMatch, SharedInputs};
use crate::translation::Updated;
use crate::{Kind, ObjectKey, ObjectRef, Options, Provenance, Resources, Translation, wildcards};

/// An Ingress of ours, in its place, and the servers that it names.
type Member<'a> = ((Seniority, &'a Ingress), BTreeSet<ServerName>);

impl Translation {
    /// Brings this translation of `resources`, as they were before these changes, up to date. What comes out is the same,
    /// to the byte, as translating everything.
    pub fn update(
        &mut self,
        changes: &Changes,
        resources: &Resources,
        options: &Options,
    ) -> Updated {
        let mut updated = Updated::default();
        let mut stale = BTreeSet::new();
        let moved = self.take_own(changes, resources, options);
        if changes.is_everything() || !changes.objects().is_empty() {
            let shared_inputs = SharedInputs::new(resources, options);
            updated.everything = changes.is_everything() || shared_inputs != self.shared_inputs;
            if updated.everything {
                let before =
                    std::mem::replace(self, Translation::from_shared_inputs(shared_inputs));
                self.addresses = Arc::clone(&before.addresses);
                self.look_up_holders(resources.claims().wildcards(), resources, options);
                updated.names = before.names.names().cloned().collect();
                let before = before.config;
                updated.servers = before
                    .servers
                    .into_iter()
                    .map(|(name, was)| (name, Some(was)))
                    .collect();
                updated.backends = before
                    .backends
                    .into_iter()
                    .map(|(id, was)| (id, Some(was)))
                    .collect();
                stale = self.renew(
                    resources.ingresses.keys().cloned().collect(),
                    resources,
                    options,
                );
            } else {
                stale = self.renew_dependents(changes.objects(), &mut updated, resources, options);
            }
            self.take_flags(resources, options);
        }
        let of_stale = stale.iter().filter_map(|id| self.groups.get(*id));
        updated.ingresses = of_stale.map(|group| group.ingresses.len()).sum();
        let services = changes
            .objects()
            .iter()
            .filter(|object| object.kind == Kind::Service);
        let services = services
            .map(|service| &service.key)
            .chain(changes.endpoints());
        let of_services = services.flat_map(|service| self.registry.of_service(service));
        let of_names = changes
            .names()
            .iter()
            .flat_map(|name| self.names.backends(name));
        let backends = of_services.chain(of_names).cloned().chain(moved).collect();
        self.resolve(&mut updated, stale, backends, resources, options);
        updated
    }

    /// Learns what is Sluice's own now, and says whose endpoints that can concern. A look at all endpoints costs less than an
    /// index that every update would have to keep, and is rare.
    fn take_own(
        &mut self,
        changes: &Changes,
        resources: &Resources,
        options: &Options,
    ) -> BTreeSet<BackendId> {
        if !own::is_concerned(changes, options) {
            return BTreeSet::new();
        }
        let now = own::policy(resources, options);
        if *self.addresses == now {
            return BTreeSet::new();
        }
        let is_own = |backend: &Backend| {
            let judge = Judge::new(&now, &backend.transport);
            backend.endpoints.iter().any(|at| {
                judge.check(at.address, Provenance::Written).is_err() && judge.leads_home()
            })
        };
        let mut moved = self.leading_home.clone();
        let new = self
            .config
            .backends
            .iter()
            .filter(|(_, backend)| is_own(backend));
        moved.extend(new.map(|(id, _)| id.clone()));
        self.addresses = Arc::new(now);
        moved
    }

    /// A translation of the shared inputs alone.
    pub(crate) fn from_shared_inputs(shared_inputs: SharedInputs) -> Self {
        let mut translation = Translation::default();
        translation.config.global = shared_inputs.global();
        for (precedence, backend_ref) in &shared_inputs.backend_refs {
            translation
                .registry
                .add_ref(precedence.clone(), backend_ref.clone());
        }
        Translation {
            shared_inputs,
            ..translation
        }
    }

    /// Translates the route groups again that these objects have to do with, and returns the new ones.
    fn renew_dependents(
        &mut self,
        objects: &BTreeSet<ObjectRef>,
        updated: &mut Updated,
        resources: &Resources,
        options: &Options,
    ) -> BTreeSet<RouteGroupId> {
        let ingresses = objects.iter().filter(|object| object.kind == Kind::Ingress);
        let mut members: BTreeSet<ObjectKey> = ingresses.map(|object| object.key.clone()).collect();
        let mut stale: BTreeSet<RouteGroupId> = objects
            .iter()
            .flat_map(|object| self.groups.of_object(object))
            .collect();
        let now = members
            .iter()
            .filter_map(|key| resources.ingresses.get(key));
        let ours = now.filter(|ingress| {
            matches!(
                self.shared_inputs.class_match(ingress, options),
                ClassMatch::Ours
            )
        });
        let now: BTreeSet<ServerName> = ours.flat_map(|ingress| names(ingress)).collect();
        stale.extend(now.iter().filter_map(|name| self.groups.of_name(name)));
        let before = stale
            .iter()
            .filter_map(|id| self.groups.get(*id))
            .flat_map(|group| &group.names);
        let suffixes = wildcards::among(now.iter().chain(before));
        for suffix in self.look_up_holders(suffixes, resources, options) {
            stale.extend(self.groups.under(&suffix));
        }
        for id in stale {
            members.extend(self.withdraw(id, updated));
        }
        self.renew(members, resources, options)
    }

    /// Groups these Ingresses, none of which is in a route group, and translates them.
    fn renew(
        &mut self,
        members: BTreeSet<ObjectKey>,
        resources: &Resources,
        options: &Options,
    ) -> BTreeSet<RouteGroupId> {
        let mut ours: Vec<Member<'_>> = Vec::new();
        for key in members {
            self.other_class.remove(&key);
            let Some(ingress) = resources.ingresses.get(&key) else {
                continue;
            };
            match self.shared_inputs.class_match(ingress, options) {
                ClassMatch::Ours => {
                    ours.push((((false, age(ingress)), ingress.as_ref()), names(ingress)));
                }
                ClassMatch::OtherClass(report) => drop(self.other_class.insert(key, report)),
                ClassMatch::Unwatched => {}
            }
        }
        ours.sort_by(|((a, _), _), ((b, _), _)| a.cmp(b));
        let mut groups = components(ours);
        let names_it = |(_, names): &Member<'_>| names.contains(&ServerName::CatchAll);
        if self.groups.of_name(&ServerName::CatchAll).is_none()
            && !groups.iter().flatten().any(names_it)
        {
            groups.push(Vec::new());
        }
        let new = groups.into_iter().map(|group| {
            let with_catch_all = group.is_empty() || group.iter().any(names_it);
            self.translate_group(group, with_catch_all, resources, options)
        });
        new.collect()
    }

    /// Translates Ingresses that have to do with each other.
    pub(crate) fn translate_group(
        &mut self,
        members: Vec<Member<'_>>,
        with_catch_all: bool,
        resources: &Resources,
        options: &Options,
    ) -> RouteGroupId {
        let tracker = DependencyTracker::new(resources, options);
        let context = Context {
            tracker: &tracker,
            options,
            globals: &self.shared_inputs.globals,
        };
        let keys = members.iter();
        let keys = keys.map(|((_, ingress), _)| key_of(&ingress.metadata));
        let ingresses = keys.collect();
        let names = members.iter().flat_map(|(_, names)| names);
        let mut names: BTreeSet<ServerName> = names.cloned().collect();
        names.extend(with_catch_all.then_some(ServerName::CatchAll));
        let fallback = self.shared_inputs.fallback.as_ref();
        let members = members.into_iter().map(|(member, _)| member);
        let assembled =
            servers::assemble(members, with_catch_all, fallback, &self.wildcards, context);
        let Assembled {
            servers,
            owners,
            error_services,
            tls,
            passthrough,
            backend_refs,
            canary_candidates,
            secrets,
            reports,
        } = assembled;
        debug_assert!(
            (servers.keys().chain(tls.keys())).all(|name| names.contains(name)),
            "{names:?}"
        );
        let said = self.register(backend_refs, canary_candidates);
        self.owners.extend(owners);
        let servers = servers
            .into_iter()
            .map(|(name, server)| (name, Arc::new(self.sharing(server))))
            .collect();
        let (secrets, dependencies) = (self.hold(secrets), tracker.into_dependencies());
        let tls_names = tls.keys().cloned().collect();
        self.config.tls.extend(tls);
        self.config.passthrough.extend(passthrough);
        self.groups.insert(RouteGroup {
            ingresses,
            names: names.into_iter().collect(),
            dependencies: dependencies.into_iter().collect(),
            servers,
            tls: tls_names,
            secrets,
            error_services,
            said: said.into(),
            reports,
        })
    }

    /// Says to the registry what a route group says about ports of Services; it is withdrawn by what comes back.
    fn register(
        &mut self,
        refs: Vec<(Precedence, BackendRef)>,
        candidates: Vec<(Precedence, CanaryCandidate)>,
    ) -> Vec<(BackendId, Precedence)> {
        let mut said = Vec::new();
        for (precedence, backend_ref) in refs {
            said.push((backend_ref.id.service_port(), precedence.clone()));
            self.registry.add_ref(precedence, backend_ref);
        }
        for (precedence, candidate) in candidates {
            said.push((candidate.main.clone(), precedence.clone()));
            self.registry.add_candidate(precedence, candidate);
        }
        said
    }

    /// Most locations ask for what the one before asked for: then it is kept once.
    fn sharing(&mut self, mut server: Server) -> Server {
        for location in &mut server.routes {
            if location.policy == self.usual {
                location.policy = Arc::clone(&self.usual);
            } else {
                self.usual = Arc::clone(&location.policy);
            }
        }
        server
    }

    /// Removes a route group, and returns its Ingresses.
    fn withdraw(&mut self, id: RouteGroupId, updated: &mut Updated) -> BTreeSet<ObjectKey> {
        let Some(group) = self.groups.remove(id) else {
            return BTreeSet::new();
        };
        for (port, precedence) in &group.said {
            self.registry.withdraw(port, precedence);
        }
        for (name, server) in &group.servers {
            server
                .routes
                .iter()
                .for_each(|location| drop(self.owners.remove(&location.id)));
            updated
                .servers
                .insert(name.clone(), self.config.servers.remove(name));
            if let ServerName::Exact(host) = name {
                self.config.passthrough.remove(host);
            }
        }
        group
            .tls
            .iter()
            .for_each(|name| drop(self.config.tls.remove(name)));
        self.let_go(&group.secrets);
        group.ingresses.into_iter().collect()
    }
}

/// Sets a value and notes what was there before. What is as before stays the very same.
fn set<K: Clone + Ord, V: PartialEq>(
    all: &mut Shared<K, V>,
    before: &mut BTreeMap<K, Option<Arc<V>>>,
    key: &K,
    now: Arc<V>,
) {
    let was = before
        .get(key)
        .cloned()
        .unwrap_or_else(|| all.get(key).cloned());
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
