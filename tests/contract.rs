//! The writer's documents and the reader's tables: every golden `plugin.json` compiles, and every route of it leads
//! to the endpoints of the backend that it names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use sluice_filter_config::{Backend, PluginConfig, Route, Snapshot, Tables as Update};
use sluice_filter_core::{Decision, Fact, Forward, Reply, Request, Rng, Tables, Timestamp};
use sluice_tests::artifacts;

const NOW: Timestamp = Timestamp::from_nanos(1);

struct Counting(u64);

impl Rng for Counting {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0
    }
}

/// A request that says nothing.
struct Silent;

impl Request for Silent {
    fn header(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn fact(&self, _fact: Fact) -> Option<Cow<'_, [u8]>> {
        None
    }
}

#[test]
fn every_golden_plugin_configuration_compiles_and_leads_to_its_backends() -> Result<()> {
    let mut documents = 0;
    for case in fs::read_dir(artifacts::repository().join("tests/golden"))? {
        let path = case?.path().join("plugin.json");
        let document = fs::read(&path).with_context(|| path.display().to_string())?;
        check(&document).with_context(|| path.display().to_string())?;
        documents += 1;
    }
    ensure!(documents > 0, "no golden case at all");
    Ok(())
}

fn check(document: &[u8]) -> Result<()> {
    let Some(Update::Snapshot(snapshot)) = PluginConfig::parse(document)?.tables else {
        bail!("expected a snapshot");
    };
    let mut tables = Tables::default();
    let version = tables
        .apply(Update::Snapshot(snapshot.clone()), NOW, &mut Counting(1))
        .map_err(|refused| anyhow::anyhow!("{refused}"))?;
    ensure!(version == snapshot.version);
    for id in snapshot.routes.keys() {
        stays_with_its_backends(&mut tables, id, &snapshot)?;
    }
    // Whom a canary takes is a matter of chance, and of other tests.
    let mut plain = snapshot;
    plain
        .routes
        .values_mut()
        .for_each(|route| route.canaries.clear());
    let mut tables = Tables::default();
    tables
        .apply(Update::Snapshot(plain.clone()), NOW, &mut Counting(1))
        .map_err(|refused| anyhow::anyhow!("{refused}"))?;
    let Snapshot {
        routes, backends, ..
    } = plain;
    for (id, route) in &routes {
        match backends.get(&route.backend) {
            Some(backend) => leads_to(&mut tables, id, backend)?,
            None => leads_outside(&mut tables, id, route)?,
        }
    }
    Ok(())
}

/// Whatever is chosen belongs to the route's backend or to one of its canaries.
fn stays_with_its_backends(tables: &mut Tables, id: &str, snapshot: &Snapshot) -> Result<()> {
    let route = &snapshot.routes[id];
    let names =
        std::iter::once(&route.backend).chain(route.canaries.iter().map(|canary| &canary.backend));
    // One that has nobody behind it is never taken, so it need not be there.
    let backends: Vec<&Backend> = names
        .filter_map(|name| snapshot.backends.get(name))
        .collect();
    let mut rng = Counting(1);
    for _ in 0..100 {
        let Decision::Forward(Forward { candidates, .. }) =
            tables.decide_admitted(id, &Silent, NOW, &mut rng)
        else {
            continue;
        };
        let of_one = |backend: &&Backend| {
            candidates.split(',').all(|chosen| {
                backend
                    .endpoints
                    .iter()
                    .any(|endpoint| &*endpoint.address == chosen)
            })
        };
        ensure!(
            backends.iter().any(of_one),
            "{id}: {candidates:?} are of none of its backends"
        );
    }
    Ok(())
}

/// A host outside of the cluster is none of the filter's, which is told of the route because of something else.
fn leads_outside(tables: &mut Tables, id: &str, route: &Route) -> Result<()> {
    let is_worth_it = route.connections.is_some() || route.rewriting.is_some();
    ensure!(
        is_worth_it && route.canaries.is_empty(),
        "{id}: no such backend"
    );
    let decision = tables.decide_admitted(id, &Silent, NOW, &mut Counting(1));
    ensure!(
        matches!(decision, Decision::External { .. }),
        "{id}: {decision:?}"
    );
    Ok(())
}

fn leads_to(tables: &mut Tables, route: &str, backend: &Backend) -> Result<()> {
    let mut rng = Counting(1);
    // Those that terminate get nothing new, and backups nothing as long as there are others. Nothing was checked yet.
    let lasting = || {
        backend
            .endpoints
            .iter()
            .filter(|endpoint| !endpoint.draining)
    };
    let has_primary = lasting().any(|endpoint| !endpoint.backup);
    let endpoints = lasting().filter(|endpoint| !(has_primary && endpoint.backup));
    let endpoints: BTreeMap<String, u16> = endpoints
        .map(|endpoint| (endpoint.address.to_string(), endpoint.weight.get()))
        .collect();
    let mut chosen = BTreeMap::new();
    for _ in 0..endpoints.values().map(|weight| u32::from(*weight)).sum() {
        let Decision::Forward(Forward { candidates, .. }) =
            tables.decide_admitted(route, &Silent, NOW, &mut rng)
        else {
            bail!("{route}: not forwarded")
        };
        let first = candidates.split(',').next().unwrap_or_default().to_owned();
        *chosen.entry(first).or_default() += 1;
    }
    ensure!(
        chosen == endpoints,
        "{route}: one round takes {chosen:?} of {endpoints:?}"
    );
    if endpoints.is_empty() {
        let decision = tables.decide_admitted(route, &Silent, NOW, &mut rng);
        ensure!(
            matches!(decision, Decision::Reply(Reply::NO_ENDPOINTS)),
            "{route}: expected 503"
        );
    }
    Ok(())
}
