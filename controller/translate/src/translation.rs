//! The result of a translation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{
    Backend, BackendId, Config, Location, LocationId, Policy, SecretId, Server, ServerName, Shared,
};

use crate::backends::{Named, Rank};
use crate::claims::Seniority;
use crate::ground::Ground;
use crate::islands::Islands;
use crate::ledger::Ledger;
use crate::resources::Changes;
use crate::servers::{Owners, names};
use crate::{ObjectKey, Options, Report, Resources};

/// What there is to serve, and what could not be honoured.
///
/// It knows what it is made from, so that it can be brought up to date at the cost of what changed: see [`update`](Self::update).
#[derive(Clone, Debug, Default)]
pub struct Translation {
    pub(crate) config: Config,
    pub(crate) ground: Ground,
    pub(crate) islands: Islands,
    pub(crate) ledger: Ledger,
    pub(crate) owners: Owners,
    /// Notes about Ingresses that are somebody else's.
    pub(crate) foreign: BTreeMap<ObjectKey, Report>,
    pub(crate) backend_reports: BTreeMap<BackendId, Vec<Report>>,
    /// How many name each Secret.
    pub(crate) holders: BTreeMap<SecretId, usize>,
    pub(crate) flags: OfFlags,
    /// What the last location asked for.
    pub(crate) usual: Arc<Policy>,
}

/// What follows from flags and the objects that they name.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfFlags {
    pub(crate) secrets: BTreeSet<SecretId>,
    pub(crate) ports: Vec<(Rank, Named)>,
    pub(crate) reports: Vec<Report>,
}

/// What an update has changed, and what it took.
#[derive(Clone, Debug, Default)]
pub struct Updated {
    /// Everything was translated again.
    pub everything: bool,
    /// Ingresses that were read.
    pub ingresses: usize,
    /// Backends that were resolved.
    pub resolved: usize,
    /// Servers that are not as before, as they were; without those that were made again and came out the same.
    pub servers: BTreeMap<ServerName, Option<Arc<Server>>>,
    /// Backends that are not as before, as they were.
    pub backends: BTreeMap<BackendId, Option<Arc<Backend>>>,
}

impl Updated {
    /// The servers and the backends as they were, in what is otherwise served now.
    #[must_use]
    pub fn undone(&self, now: &Config) -> Config {
        let mut before = now.clone();
        restore(&mut before.servers, &self.servers);
        restore(&mut before.backends, &self.backends);
        before
    }
}

fn restore<K: Clone + Ord, V>(now: &mut Shared<K, V>, before: &BTreeMap<K, Option<Arc<V>>>) {
    for (key, value) in before {
        match value {
            Some(value) => drop(now.insert(key.clone(), Arc::clone(value))),
            None => drop(now.remove(key)),
        }
    }
}

/// Translates everything. Pure and total.
#[must_use]
pub fn translate(resources: &Resources, options: &Options) -> Translation {
    let mut translation = Translation::default();
    translation.update(&Changes::everything(), resources, options);
    translation
}

/// Translates some Ingresses as if there were no others, and all together. They are ours, and in the order in which they
/// are read.
pub(crate) fn translate_these<'a>(
    ingresses: impl IntoIterator<Item = (Seniority, &'a Ingress)>,
    resources: &Resources,
    options: &Options,
) -> Translation {
    let mut translation = Translation::on(Ground::of(resources, options));
    let ours: Vec<_> = ingresses.into_iter().map(|(age, ingress)| ((age, ingress), names(ingress))).collect();
    let island = translation.settle_island(ours, true, resources, options);
    translation.take_flags(resources, options);
    translation.settle(
        &mut Updated::default(),
        BTreeSet::from([island]),
        BTreeSet::new(),
        resources,
        options,
    );
    translation
}

impl Translation {
    /// What there is to serve.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What could not be honoured, in a stable order.
    #[must_use]
    pub fn reports(&self) -> Vec<&Report> {
        let mut all: Vec<&Report> =
            self.routing_reports().chain(self.backend_reports.values().flatten()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// What is wrong with the objects themselves; what is wrong behind them is left out.
    pub(crate) fn routing_reports(&self) -> impl Iterator<Item = &Report> {
        let of_all = self.ground.reports.iter().chain(&self.flags.reports).chain(self.foreign.values());
        let of_islands = self.islands.iter().flat_map(|island| &island.reports);
        of_all.chain(of_islands).chain(self.ledger.reports())
    }

    /// A location by its id.
    #[must_use]
    pub fn location(&self, id: &str) -> Option<&Location> {
        let (host, _) = id.split_at(id.find(['=', '~', '/'])?);
        let name = if host == "_" { ServerName::CatchAll } else { ServerName::parse(host).ok()? };
        self.config.servers.get(&name)?.locations.iter().find(|location| location.id.as_str() == id)
    }

    /// The Ingresses that have a location.
    #[must_use]
    pub fn owners(&self) -> BTreeSet<&ObjectKey> {
        self.owners.values().collect()
    }

    /// The Ingress that a location is from; `None` for what flags and the generated root bring.
    #[must_use]
    pub fn owner(&self, location: &LocationId) -> Option<&ObjectKey> {
        self.owners.get(location)
    }
}
