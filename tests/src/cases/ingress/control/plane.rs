//! The data plane as a whole: its configuration, and whether it was reloaded.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;

use super::super::check::texts;
use super::super::then::Then;
use super::super::world::World;
use crate::sluice::Sluice;
use crate::{proc, unix, wait};

/// The state of the data plane at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// All of its configuration, without versions and times.
    config: String,
    /// Its processes, and how often listeners (whose connections are drained then) were replaced.
    generation: String,
}

impl State {
    /// Asks for it.
    pub async fn of(sluice: &Sluice) -> Result<State> {
        let tables = unix::get(
            &sluice.run_dir().join("controller.sock"),
            "/v1/plugin-config",
        )
        .await?;
        let mut tables: Value = serde_json::from_str(&tables)?;
        forget_versions(&mut tables);
        let (config, generation) = if nginx_conf(sluice).is_file() {
            of_nginx(sluice).await?
        } else {
            of_envoy(sluice).await?
        };
        Ok(State {
            config: format!("{config}\n{tables}"),
            generation,
        })
    }
}

fn nginx_conf(sluice: &Sluice) -> PathBuf {
    sluice.run_dir().join("nginx/nginx.conf")
}

/// nginx.conf as it is in use, and the processes: each reload makes new workers. It listens before it has the first.
async fn of_nginx(sluice: &Sluice) -> Result<(String, String)> {
    let masters = proc::children(sluice.pid());
    let workers = async || {
        let workers: BTreeSet<u32> = masters
            .iter()
            .flat_map(|master| proc::children(*master))
            .collect();
        (!workers.is_empty()).then_some(workers)
    };
    let (workers, _) = wait::until("nginx to have workers", workers).await?;
    let config = std::fs::read_to_string(nginx_conf(sluice))?;
    Ok((config, format!("{masters:?} {workers:?}")))
}

async fn of_envoy(sluice: &Sluice) -> Result<(String, String)> {
    let admin = sluice.run_dir().join("envoy-admin.sock");
    let dump = unix::get(&admin, "/config_dump?include_eds").await?;
    let mut dump: Value = serde_json::from_str(&dump)?;
    forget_versions(&mut dump);
    let listeners = "/stats?filter=^listener_manager.listener_(added|modified|removed)$";
    let replaced = unix::get(&admin, listeners).await?;
    let processes: BTreeSet<u32> = proc::children(sluice.pid()).into_iter().collect();
    Ok((dump.to_string(), format!("{processes:?} {replaced}")))
}

/// Removes versions, which differ between revisions and are no content.
fn forget_versions(value: &mut Value) {
    const VERSIONS: [&str; 4] = ["version_info", "last_updated", "version", "base"];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !VERSIONS.contains(&name.as_str()));
            fields.values_mut().for_each(forget_versions);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_versions),
        _ => {}
    }
}

/// Returns `true` if an expectation is about the data plane as a whole.
pub fn is_asked_for(then: &Then) -> bool {
    then.config_contains.is_some() || then.checksum_changed.is_some() || then.reload.is_some()
}

impl World {
    /// The reasons against what is expected of the data plane, given how it was before.
    pub async fn plane(&self, then: &Then, before: Option<&State>) -> Vec<String> {
        let now = match State::of(&self.sluice).await {
            Ok(now) => now,
            Err(error) => return vec![format!("the data plane's configuration: {error:#}")],
        };
        let mut reasons = Vec::new();
        for text in then
            .config_contains
            .iter()
            .flat_map(texts)
            .filter(|text| !now.config.contains(text))
        {
            reasons.push(format!(
                "config_contains: {text:?} is not in the data plane's configuration"
            ));
        }
        let Some(before) = before else { return reasons };
        let changed = before.config != now.config;
        if then
            .checksum_changed
            .is_some_and(|expected| expected != changed)
        {
            reasons.push(format!(
                "checksum_changed: expected {}, got {changed}",
                !changed
            ));
        }
        if then.reload == Some(false) && before.generation != now.generation {
            reasons.push(format!(
                "reload: before {:?}, now {:?}",
                before.generation, now.generation
            ));
        }
        reasons
    }

    /// The pods that the data plane was given as endpoints.
    pub async fn endpoints(&self) -> Result<BTreeSet<String>> {
        let tables = unix::get(
            &self.sluice.run_dir().join("controller.sock"),
            "/v1/plugin-config",
        )
        .await?;
        let words = tables.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ':')));
        let addresses = words.filter_map(|word| word.parse().ok());
        Ok(addresses
            .filter_map(|addr| self.pods.at(addr))
            .map(str::to_owned)
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_new_version_is_not_a_change() {
        let mut dump =
            json!([{ "version_info": "2", "last_updated": "now", "cluster": { "name": "a" } }]);
        forget_versions(&mut dump);
        assert_eq!(dump, json!([{ "cluster": { "name": "a" } }]));
    }
}
