//! Settings behind a part of a configuration: it is another one without them.
//!
//! Nothing in the model says which annotation it is from, and no table could: one may have several effects, and only with others. So
//! each is left out once, and what comes of the rest is compared.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{Canary, Config, HttpRoute, RouteId, ServerName};
use sluice_translate_engine::{
    Ingress, Kind, Object, ObjectKey, ObjectRef, Snapshot, is_same_canary,
};

use crate::annotations::{Scope, find};
use crate::{Options, Resources, translate};

/// A setting as its owner has written it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The Ingress or the ConfigMap.
    pub object: ObjectRef,
    /// Path of the field in it.
    pub field: String,
    /// Name of the annotation, with its prefix, or of the key.
    pub name: String,
    /// The value.
    pub value: String,
}

/// Settings behind a part of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Causes {
    /// In the order of their objects.
    pub settings: Vec<Setting>,
    /// All were tried.
    pub is_whole: bool,
}

/// The part of a configuration that is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Objects and options of the configuration.
    pub inputs: (&'a Resources, &'a Options),
    /// The configuration.
    pub snapshot: &'a Snapshot,
    /// The server.
    pub server: Option<&'a ServerName>,
    /// A route of the server.
    pub route: Option<&'a RouteId>,
}

impl Subject<'_> {
    /// Annotations and keys of the ConfigMap without which `read` returns something else; of two that each suffice, neither is found.
    /// Costs a translation of the host's Ingresses for each of them, for as long as `goes_on` says so.
    #[must_use]
    pub fn causes<T: PartialEq>(
        &self,
        goes_on: impl Fn() -> bool,
        read: impl Fn(&Config) -> T,
    ) -> Causes {
        let mut is_whole = true;
        let (resources, options) = self.inputs;
        let (own, neighbours) = self.ingresses();
        let mains = self.mains(&own);
        let all = own.iter().chain(&neighbours).chain(&mains);
        let all: BTreeSet<&ObjectKey> = all.copied().collect();
        let mut part = resources.with_ingresses(&all);
        let before = read(translate(&part, options).config());
        let candidates = own.iter().flat_map(|key| annotations(&part, options, key));
        let of_neighbours = neighbours.iter().flat_map(|key| {
            let all = annotations(&part, options, key);
            all.filter(|setting| concerns_hosts(setting, options))
        });
        let mut candidates: Vec<Setting> = candidates.chain(of_neighbours).collect();
        candidates.extend(keys(&part, options));
        candidates.retain(|setting| {
            is_whole &= goes_on();
            if !is_whole {
                return false;
            }
            let Some(whole) = part.leave_out(setting) else {
                return false;
            };
            let is_cause = read(translate(&part, options).config()) != before;
            part.apply(whole);
            is_cause
        });
        Causes {
            settings: candidates,
            is_whole,
        }
    }

    /// Those of the route and of its canaries, and the others of the server.
    fn ingresses(&self) -> (BTreeSet<&ObjectKey>, BTreeSet<&ObjectKey>) {
        let snapshot = self.snapshot;
        let server = self.server.and_then(|it| snapshot.config().servers.get(it));
        let routes = || server.into_iter().flat_map(|server| &server.routes);
        let owners = routes().filter_map(|route| snapshot.owner(&route.id));
        let owners: BTreeSet<&ObjectKey> = owners.collect();
        let route: Option<&HttpRoute> = routes().find(|route| Some(&route.id) == self.route);
        let is_taken = |canary: &Canary| route.is_some_and(|it| has_canary(it, canary));
        let canaries = snapshot.canaries().iter();
        let canaries = canaries.filter(|(_, canary)| is_taken(canary));
        let owner = route.and_then(|route| snapshot.owner(&route.id));
        let own: BTreeSet<&ObjectKey> = owner
            .into_iter()
            .chain(canaries.map(|(key, _)| key))
            .collect();
        let neighbours = owners.difference(&own).copied().collect();
        (own, neighbours)
    }

    /// Those that make canaries of these: a canary takes a part of every host with its main backend, if there is an Ingress
    /// beside it on its own one.
    fn mains(&self, ingresses: &BTreeSet<&ObjectKey>) -> BTreeSet<&ObjectKey> {
        let snapshot = self.snapshot;
        let canaries = snapshot.canaries().iter();
        let canaries = canaries.filter(|(key, _)| ingresses.contains(key));
        let mains = canaries.flat_map(|(key, canary)| {
            let ingress = self.inputs.0.ingresses.get(key);
            let hosts: BTreeSet<ServerName> =
                ingress.into_iter().flat_map(|it| hosts(it)).collect();
            let servers = hosts.into_iter();
            let servers = servers.filter_map(|name| snapshot.config().servers.get(&name));
            let routes = servers.flat_map(|server| &server.routes);
            let routes = routes.filter(move |route| has_canary(route, canary));
            routes.filter_map(|route| snapshot.owner(&route.id))
        });
        mains.collect()
    }
}

fn has_canary(route: &HttpRoute, asked: &Canary) -> bool {
    let mut canaries = route.canaries.iter();
    canaries.any(|canary| is_same_canary(canary, asked))
}

fn hosts(ingress: &Ingress) -> impl Iterator<Item = ServerName> {
    let specs = ingress.spec.iter();
    let default = specs.clone().filter(|spec| spec.default_backend.is_some());
    let default = default.map(|_| ServerName::CatchAll);
    let rules = specs.flat_map(|spec| spec.rules.iter().flatten());
    let hosts =
        rules.filter_map(|rule| ServerName::parse(rule.host.as_deref().unwrap_or_default()).ok());
    hosts.chain(default)
}

fn annotations(
    resources: &Resources,
    options: &Options,
    key: &ObjectKey,
) -> impl Iterator<Item = Setting> {
    let ingress = resources.ingresses.get(key).cloned();
    let annotations = ingress.iter().flat_map(|it| it.annotations.iter());
    let annotations: Vec<(String, String)> = annotations
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let (prefix, object) = (
        options.annotations_prefix.clone(),
        ObjectRef {
            kind: Kind::Ingress,
            key: key.clone(),
        },
    );
    annotations.into_iter().filter_map(move |(name, value)| {
        // One that nobody knows is reported, and has no effect.
        find(name.strip_prefix(&prefix)?.strip_prefix('/')?)?;
        Some(Setting {
            object: object.clone(),
            field: format!("metadata.annotations.{name}"),
            name,
            value,
        })
    })
}

fn concerns_hosts(setting: &Setting, options: &Options) -> bool {
    let name = setting.name.strip_prefix(&options.annotations_prefix);
    let name = name.and_then(|name| name.strip_prefix('/'));
    let annotation = name.and_then(find);
    annotation.is_some_and(|annotation| matches!(annotation.scope, Scope::Host))
}

fn keys(resources: &Resources, options: &Options) -> Vec<Setting> {
    let Some(key) = &options.configmap else {
        return Vec::new();
    };
    let config_map = resources.cluster.config_map(key);
    let data = config_map.and_then(|it| it.data.as_ref());
    let object = ObjectRef {
        kind: Kind::ConfigMap,
        key: key.clone(),
    };
    let data = data.into_iter().flatten().map(|(name, value)| Setting {
        object: object.clone(),
        field: format!("data.{name}"),
        name: name.clone(),
        value: value.clone(),
    });
    data.collect()
}

impl Resources {
    /// The same, without other Ingresses than these.
    fn with_ingresses(&self, keys: &BTreeSet<&ObjectKey>) -> Resources {
        let mut part = self.without_ingresses();
        for ingress in keys.iter().filter_map(|key| self.ingresses.get(key)) {
            part.apply(Object::Ingress(Arc::clone(ingress)));
        }
        part
    }

    /// Returns the object with the setting.
    fn leave_out(&mut self, setting: &Setting) -> Option<Object> {
        let key = &setting.object.key;
        if setting.object.kind == Kind::ConfigMap {
            let whole = self.cluster.config_map(key)?.clone();
            let mut rest = whole.clone();
            rest.data.as_mut()?.remove(&setting.name);
            self.apply(Object::ConfigMap(Arc::new(rest)));
            return Some(Object::ConfigMap(Arc::new(whole)));
        }
        let whole = Arc::clone(self.ingresses.get(key)?);
        let mut rest = whole.as_ref().clone();
        rest.annotations = rest.annotations.without(&setting.name);
        self.apply(Object::Ingress(Arc::new(rest)));
        Some(Object::Ingress(whole))
    }
}
