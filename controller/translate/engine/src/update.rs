//! Bringing a translation up to date, at the cost of what changed.
//!
//! ```text
//!   changed objects --route_groups.rs--> route groups that depend on them
//!        those are withdrawn, their objects grouped anew (components.rs) and assembled by the input
//!   backend_registry.rs   --> ports of Services that are referred to otherwise now --> backends, canaries
//!   changed endpoints, changed backends --> missing endpoints
//!        canaries of all routes that these reach are overlaid again (overlay_canaries.rs)
//! ```
//!
//! A translation of everything is the update of an empty one.

mod backends;
mod flags;
mod holders;
mod own_addresses;
mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{BackendId, Server, ServerName, Shared};

use crate::assembled::Assembled;
use crate::backends::{BackendRef, ReferencePrecedence};
use crate::canaries::CanaryCandidate;
use crate::components::components;
use crate::ids::without_variant;
use crate::input::{Member, Membership, RouteInput, SharedInputs};
use crate::references::DependencyTracker;
use crate::route_groups::{RouteGroup, RouteGroupId};
use crate::translation::Updated;
use crate::{Changes, Kind, ObjectKey, ObjectRef, Translation, wildcards};

impl<S: Clone + std::fmt::Debug + Default + PartialEq> Translation<S> {
    /// Brings this translation of an input, as it was before these changes, up to date. The result is the same, to the byte,
    /// as that of translating everything.
    pub fn update<I: RouteInput<Settings = S>>(&mut self, changes: &Changes, input: &I) -> Updated {
        let mut updated = Updated::default();
        let mut stale = BTreeSet::new();
        let mut backends = self.update_own_addresses(changes, input);
        if changes.is_everything() || !changes.objects().is_empty() {
            let shared_inputs = input.shared_inputs();
            updated.everything = changes.is_everything() || shared_inputs != self.shared_inputs;
            stale = if updated.everything {
                self.translate_all(shared_inputs, &mut updated, input)
            } else {
                self.translate_dependents(changes.objects(), &mut updated, input)
            };
            self.update_flags(input);
        }
        let stale_groups = stale.iter().filter_map(|id| self.groups.get(*id));
        updated.members = stale_groups.map(|group| group.members.len()).sum();
        backends.extend(self.backends_of(changes).cloned());
        self.resolve(&mut updated, stale, backends, input);
        updated
    }

    /// Backends whose Service, endpoints, their health or DNS name have changed.
    fn backends_of<'s>(&'s self, changes: &'s Changes) -> impl Iterator<Item = &'s BackendId> {
        let is_service = |object: &&ObjectRef| object.kind == Kind::Service;
        let services = changes.objects().iter().filter(is_service);
        let services = services
            .map(|service| &service.key)
            .chain(changes.endpoints());
        let of_services = services.flat_map(|service| self.registry.of_service(service));
        let names = changes.names().iter();
        let of_names = names.flat_map(|name| self.names.backends(name));
        of_services.chain(of_names).chain(changes.health())
    }

    /// Translates everything, and notes what was there before. Returns the route groups.
    fn translate_all<I: RouteInput<Settings = S>>(
        &mut self,
        shared_inputs: SharedInputs<S>,
        updated: &mut Updated,
        input: &I,
    ) -> BTreeSet<RouteGroupId> {
        let before = std::mem::replace(self, Translation::from_shared_inputs(shared_inputs));
        self.addresses = Arc::clone(&before.addresses);
        self.look_up_holders(input.wildcards(), input);
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
        self.translate_objects(input.keys(), input)
    }

    /// A translation of the shared inputs alone.
    fn from_shared_inputs(shared_inputs: SharedInputs<S>) -> Self {
        let mut translation = Translation::default();
        translation.config.global = shared_inputs.global.clone();
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

    /// Translates these objects as if there were no others, and all together. They are this controller's, and in the order in
    /// which they are read.
    #[must_use]
    pub fn from_members<I: RouteInput<Settings = S>>(
        members: Vec<Member<I::Object<'_>>>,
        input: &I,
    ) -> Self {
        let mut translation = Translation::from_shared_inputs(input.shared_inputs());
        let names = members.iter().flat_map(|member| &member.names);
        translation.look_up_holders(wildcards::over(names), input);
        translation.set_own_addresses(input);
        let group = translation.translate_group(members, true, input);
        translation.update_flags(input);
        translation.resolve(
            &mut Updated::default(),
            BTreeSet::from([group]),
            BTreeSet::new(),
            input,
        );
        translation
    }

    /// Translates the route groups again that depend on these objects, and returns the new ones.
    fn translate_dependents<I: RouteInput<Settings = S>>(
        &mut self,
        objects: &BTreeSet<ObjectRef>,
        updated: &mut Updated,
        input: &I,
    ) -> BTreeSet<RouteGroupId> {
        let with_routes = objects.iter().filter(|object| object.kind == I::KIND);
        let mut keys: BTreeSet<ObjectKey> = with_routes.map(|object| object.key.clone()).collect();
        let dependents = objects
            .iter()
            .flat_map(|object| self.groups.of_object(object));
        let own_groups = keys.iter().filter_map(|key| self.groups.of_member(key));
        let mut stale: BTreeSet<RouteGroupId> = dependents.chain(own_groups).collect();
        let now: BTreeSet<ServerName> = keys
            .iter()
            .flat_map(|key| self.names_now(key, input))
            .collect();
        stale.extend(now.iter().filter_map(|name| self.groups.of_name(name)));
        let before = stale
            .iter()
            .filter_map(|id| self.groups.get(*id))
            .flat_map(|group| &group.names);
        let suffixes = wildcards::among(now.iter().chain(before));
        for suffix in self.look_up_holders(suffixes, input) {
            stale.extend(self.groups.under(&suffix));
        }
        for id in stale {
            keys.extend(self.withdraw(id, updated));
        }
        self.translate_objects(keys, input)
    }

    /// The servers that an object has to do with now, if it is this controller's.
    fn names_now<I: RouteInput<Settings = S>>(
        &self,
        key: &ObjectKey,
        input: &I,
    ) -> BTreeSet<ServerName> {
        match input.membership(key, &self.shared_inputs.settings) {
            Membership::Ours(member) => member.names,
            Membership::OtherClass(_) | Membership::None => BTreeSet::new(),
        }
    }

    /// Groups these objects, none of which is in a route group, and translates them.
    fn translate_objects<I: RouteInput<Settings = S>>(
        &mut self,
        keys: BTreeSet<ObjectKey>,
        input: &I,
    ) -> BTreeSet<RouteGroupId> {
        let mut ours: Vec<Member<I::Object<'_>>> = Vec::new();
        for key in keys {
            self.other_class.remove(&key);
            match input.membership(&key, &self.shared_inputs.settings) {
                Membership::Ours(member) => ours.push(member),
                Membership::OtherClass(report) => drop(self.other_class.insert(key, report)),
                Membership::None => {}
            }
        }
        ours.sort_by(|a, b| a.seniority.cmp(&b.seniority));
        let mut groups = components(ours);
        let is_catch_all =
            |member: &Member<I::Object<'_>>| member.names.contains(&ServerName::CatchAll);
        if self.groups.of_name(&ServerName::CatchAll).is_none()
            && !groups.iter().flatten().any(is_catch_all)
        {
            groups.push(Vec::new());
        }
        let new = groups.into_iter().map(|group| {
            let with_catch_all = group.is_empty() || group.iter().any(is_catch_all);
            self.translate_group(group, with_catch_all, input)
        });
        new.collect()
    }

    /// Translates the objects of one component.
    fn translate_group<I: RouteInput<Settings = S>>(
        &mut self,
        members: Vec<Member<I::Object<'_>>>,
        with_catch_all: bool,
        input: &I,
    ) -> RouteGroupId {
        let tracker = DependencyTracker::new(input.cluster(), input.upstream_options().addresses);
        let keys = members
            .iter()
            .map(|member| wildcards::key_of_age(&member.seniority.1).clone())
            .collect();
        let names = members.iter().flat_map(|member| &member.names);
        let mut names: BTreeSet<ServerName> = names.cloned().collect();
        names.extend(with_catch_all.then_some(ServerName::CatchAll));
        let members = members
            .into_iter()
            .map(|member| (member.seniority, member.object))
            .collect();
        let assembled = input.assemble(
            members,
            with_catch_all,
            &self.shared_inputs,
            &self.wildcards,
            &tracker,
        );
        let dependencies = tracker.into_dependencies();
        debug_assert!(
            (assembled.servers.keys().chain(assembled.tls.keys())).all(|name| names.contains(name)),
            "{names:?}"
        );
        let group = RouteGroup {
            members: keys,
            names: names.into_iter().collect(),
            dependencies: dependencies.into_iter().collect(),
            ..self.take_assembled(assembled)
        };
        self.groups.insert(group)
    }

    /// Takes the servers of a route group and all that they need into the configuration.
    fn take_assembled(&mut self, assembled: Assembled) -> RouteGroup {
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
        let contributions = self.register(backend_refs, canary_candidates);
        self.owners.extend(owners);
        let servers = servers
            .into_iter()
            .map(|(name, server)| (name, Arc::new(self.share_policies(server))))
            .collect();
        let tls_names = tls.keys().cloned().collect();
        self.config.tls.extend(tls);
        self.config.passthrough.extend(passthrough);
        RouteGroup {
            servers,
            tls: tls_names,
            secrets: self.acquire(secrets),
            error_services,
            contributions: contributions.into(),
            reports,
            ..RouteGroup::default()
        }
    }

    /// Registers what a route group says about ports of Services. Returns the keys with which it is withdrawn.
    fn register(
        &mut self,
        refs: Vec<(ReferencePrecedence, BackendRef)>,
        candidates: Vec<(ReferencePrecedence, CanaryCandidate)>,
    ) -> Vec<(BackendId, ReferencePrecedence)> {
        let mut contributions = Vec::new();
        for (precedence, backend_ref) in refs {
            contributions.push((without_variant(&backend_ref.id), precedence.clone()));
            self.registry.add_ref(precedence, backend_ref);
        }
        for (precedence, candidate) in candidates {
            contributions.push((candidate.main.clone(), precedence.clone()));
            self.registry.add_candidate(precedence, candidate);
        }
        contributions
    }

    /// Shares equal policies of consecutive routes: most have the policy of the one before.
    fn share_policies(&mut self, mut server: Server) -> Server {
        for route in &mut server.routes {
            if route.policy == self.last_policy {
                route.policy = Arc::clone(&self.last_policy);
            } else {
                self.last_policy = Arc::clone(&route.policy);
            }
        }
        server
    }

    /// Removes a route group, and returns its objects.
    fn withdraw(&mut self, id: RouteGroupId, updated: &mut Updated) -> BTreeSet<ObjectKey> {
        let Some(group) = self.groups.remove(id) else {
            return BTreeSet::new();
        };
        for (port, precedence) in &group.contributions {
            self.registry.withdraw(port, precedence);
        }
        for (name, server) in &group.servers {
            server
                .routes
                .iter()
                .for_each(|route| drop(self.owners.remove(&route.id)));
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
        self.release(&group.secrets);
        group.members.into_iter().collect()
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
