//! The writer's documents and the reader's tables: every golden `plugin.json` compiles, and every location of it leads
//! to the endpoints of the backend that it names.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use sluice_filter_config::{Backend, PluginConfig, Snapshot, Tables as Update};
use sluice_filter_core::{Decision, Reply, Rng, Tables};
use sluice_tests::artifacts;

struct Counting(u64);

impl Rng for Counting {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0
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
        .apply(Update::Snapshot(snapshot.clone()), &mut Counting(1))
        .map_err(|refused| anyhow::anyhow!("{refused}"))?;
    ensure!(version == snapshot.version);
    let Snapshot { locations, backends, .. } = snapshot;
    for (id, location) in &locations {
        let backend = backends.get(&location.backend).with_context(|| format!("{id}: no such backend"))?;
        leads_to(&mut tables, id, backend)?;
    }
    Ok(())
}

fn leads_to(tables: &mut Tables, location: &str, backend: &Backend) -> Result<()> {
    let mut first_choices = Vec::new();
    for _ in &backend.endpoints {
        let Decision::Forward(list) = tables.decide(location) else { bail!("{location}: not forwarded") };
        first_choices.push(list.split(',').next().unwrap_or_default().to_owned());
    }
    first_choices.sort();
    let mut endpoints: Vec<_> = backend.endpoints.iter().map(|endpoint| endpoint.address.clone()).collect();
    endpoints.sort();
    ensure!(first_choices == endpoints, "{location}: one round takes {first_choices:?} of {endpoints:?}");
    if endpoints.is_empty() {
        ensure!(tables.decide(location) == Decision::Reply(Reply::NO_ENDPOINTS), "{location}: expected 503");
    }
    Ok(())
}
