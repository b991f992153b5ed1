//! Ingresses as the engine's input.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Hostname, ServerName};
use sluice_syntax::value;
use sluice_translate_engine::{
    Assembled, DependencyTracker, Flags, Ingress, Kind, Member, Membership, ObjectCache, ObjectKey,
    RouteInput, Seniority, SharedInputs, UpstreamOptions, WildcardHolder, Wildcards, age,
    key_of_age,
};

use crate::annotations::{Context, canonical};
use crate::settings::{ClassMatch, Settings};
use crate::{Options, Resources, flags, servers, streams, unserved};

/// Ingresses and everything that they refer to, with the operator's options.
#[derive(Clone, Debug)]
pub struct Ingresses<'a> {
    resources: &'a Resources,
    options: &'a Options,
    /// Of those that are not served, whether they are without effect: one may name thousands of wildcards, each of which asks.
    unserved: RefCell<BTreeMap<ObjectKey, bool>>,
}

impl<'a> Ingresses<'a> {
    /// The Ingresses among the inputs.
    #[must_use]
    pub fn new(resources: &'a Resources, options: &'a Options) -> Self {
        Ingresses {
            resources,
            options,
            unserved: RefCell::default(),
        }
    }

    fn is_ours(&self, key: &ObjectKey, settings: &Settings) -> Option<&'a Ingress> {
        let ingress = self.resources.ingresses.get(key)?;
        let class_match = settings.class_match(ingress, self.options);
        matches!(class_match, ClassMatch::Ours).then_some(ingress.as_ref())
    }

    /// An Ingress that is not served changes no server: the hosts that it names stay apart, and it holds no wildcard.
    fn member(&self, ingress: &'a Ingress, settings: &Settings) -> Member<&'a Ingress> {
        let seniority = (false, age(ingress));
        if self.is_without_effect(ingress, settings) {
            return Member {
                seniority,
                object: ingress,
                names: BTreeSet::new(),
            };
        }
        member(seniority, ingress)
    }

    fn is_without_effect(&self, ingress: &Ingress, settings: &Settings) -> bool {
        if !unserved::is_unserved(ingress, self.options) {
            return false;
        }
        let known = self.unserved.borrow().get(&ingress.key()).copied();
        known.unwrap_or_else(|| {
            let tracker = DependencyTracker::new(self.cluster(), self.upstream_options().addresses);
            let is_without =
                !unserved::may_close(ingress, tracker, self.options, &settings.globals);
            let mut unserved = self.unserved.borrow_mut();
            unserved.insert(ingress.key(), is_without);
            is_without
        })
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
            ClassMatch::Ours => Membership::Ours(self.member(ingress, settings)),
            ClassMatch::OtherClass(report) => Membership::OtherClass(report),
            ClassMatch::Unwatched => Membership::None,
        }
    }

    fn wildcards(&self) -> BTreeSet<Hostname> {
        self.resources.claims().wildcards()
    }

    /// A canary has no host. As with every host, only Ingresses of its own namespace decide about its certificate.
    fn wildcard_holder(&self, suffix: &Hostname, settings: &Settings) -> Option<WildcardHolder> {
        let claims = self.resources.claims();
        let mut named = claims.of_wildcard(suffix).filter_map(|age| {
            let ingress = self.is_ours(key_of_age(age), settings)?;
            let names_it = !is_canary(ingress) && !self.is_without_effect(ingress, settings);
            names_it.then_some((age, ingress))
        });
        let (age, oldest) = named.next()?;
        let namespace = &key_of_age(age).namespace;
        let own = named.filter(|(age, _)| key_of_age(age).namespace == *namespace);
        let mut own = own.map(|(_, ingress)| ingress);
        Some(WildcardHolder {
            age: age.clone(),
            has_certificate: has_certificate(oldest, suffix)
                || own.any(|ingress| has_certificate(ingress, suffix)),
        })
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

/// True if it names a wildcard host as a host, and has a `tls` section, which is then the host's.
fn has_certificate(ingress: &Ingress, suffix: &Hostname) -> bool {
    let Some(spec) = &ingress.spec else {
        return false;
    };
    let wildcard = ServerName::Wildcard(suffix.clone());
    let mut hosts = spec.rules.iter().flatten().filter_map(|rule| {
        let host = rule.host.as_deref()?;
        ServerName::parse(host).ok()
    });
    spec.tls.as_ref().is_some_and(|tls| !tls.is_empty()) && hosts.any(|host| host == wildcard)
}

fn is_canary(ingress: &Ingress) -> bool {
    let mut annotations = ingress.annotations.iter();
    annotations.any(|(key, text)| {
        let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
        canonical(name) == "canary" && value::bool(text) == Ok(true)
    })
}
