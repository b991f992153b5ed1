//! Ingresses as the engine's input.

use std::collections::BTreeSet;

use sluice_ir::Hostname;
use sluice_syntax::value;
use sluice_translate_engine::{
    Age, Assembled, DependencyTracker, Flags, Ingress, Kind, Member, Membership, ObjectCache,
    ObjectKey, RouteInput, Seniority, SharedInputs, UpstreamOptions, Wildcards, age, key_of_age,
};

use crate::annotations::{Context, canonical};
use crate::settings::{ClassMatch, Settings};
use crate::{Options, Resources, flags, servers, streams};

/// Ingresses and everything that they refer to, with the operator's options.
#[derive(Clone, Copy, Debug)]
pub struct Ingresses<'a> {
    resources: &'a Resources,
    options: &'a Options,
}

impl<'a> Ingresses<'a> {
    /// The Ingresses among the inputs.
    #[must_use]
    pub fn new(resources: &'a Resources, options: &'a Options) -> Self {
        Ingresses { resources, options }
    }

    fn is_ours(&self, key: &ObjectKey, settings: &Settings) -> Option<&'a Ingress> {
        let ingress = self.resources.ingresses.get(key)?;
        let class_match = settings.class_match(ingress, self.options);
        matches!(class_match, ClassMatch::Ours).then_some(ingress.as_ref())
    }
}

/// An Ingress of this controller, with the servers that it has to do with.
pub(crate) fn member(seniority: Seniority, ingress: &Ingress) -> Member<&Ingress> {
    Member {
        seniority,
        object: ingress,
        names: servers::names(ingress),
    }
}

impl RouteInput for Ingresses<'_> {
    const KIND: Kind = Kind::Ingress;

    type Settings = Settings;

    type Object<'i>
        = &'i Ingress
    where
        Self: 'i;

    fn cluster(&self) -> &ObjectCache {
        &self.resources.cluster
    }

    fn upstream_options(&self) -> UpstreamOptions<'_> {
        self.options.for_upstreams()
    }

    fn l4_config_maps(&self) -> Vec<&ObjectKey> {
        self.options.l4_config_maps().collect()
    }

    fn l4_ports(&self) -> Vec<u16> {
        streams::ports(self.cluster(), self.options).collect()
    }

    fn shared_inputs(&self) -> SharedInputs<Settings> {
        Settings::read(self.resources, self.options)
    }

    fn keys(&self) -> BTreeSet<ObjectKey> {
        self.resources.ingresses.keys().cloned().collect()
    }

    fn membership(&self, key: &ObjectKey, settings: &Settings) -> Membership<&Ingress> {
        let Some(ingress) = self.resources.ingresses.get(key) else {
            return Membership::None;
        };
        match settings.class_match(ingress, self.options) {
            ClassMatch::Ours => Membership::Ours(member((false, age(ingress)), ingress.as_ref())),
            ClassMatch::OtherClass(report) => Membership::OtherClass(report),
            ClassMatch::Unwatched => Membership::None,
        }
    }

    fn wildcards(&self) -> BTreeSet<Hostname> {
        self.resources.claims().wildcards()
    }

    /// A canary has no host.
    fn wildcard_holder(&self, suffix: &Hostname, settings: &Settings) -> Option<Age> {
        let holder = self.resources.claims().of_wildcard(suffix).find(|age| {
            self.is_ours(key_of_age(age), settings)
                .is_some_and(|ingress| !is_canary(ingress))
        });
        holder.cloned()
    }

    fn assemble(
        &self,
        members: Vec<(Seniority, &Ingress)>,
        with_catch_all: bool,
        shared_inputs: &SharedInputs<Settings>,
        wildcards: &Wildcards,
        tracker: &DependencyTracker<'_>,
    ) -> Assembled {
        let Settings {
            globals, fallback, ..
        } = &shared_inputs.settings;
        let context = Context {
            tracker,
            options: self.options,
            globals,
        };
        servers::assemble(
            members,
            with_catch_all,
            fallback.as_ref(),
            wildcards,
            context,
        )
    }

    fn flags(&self, settings: &Settings) -> Flags {
        flags::apply(self.cluster(), self.options, &settings.globals)
    }
}

fn is_canary(ingress: &Ingress) -> bool {
    let mut annotations = ingress.annotations.iter();
    annotations.any(|(key, text)| {
        let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
        canonical(name) == "canary" && value::bool(text) == Ok(true)
    })
}
