//! The tables of the filter: a document that cannot be compiled is refused whole.

use sluice_filter_config::{PluginConfig, Tables as Update};
use sluice_filter_core::{Rng, Tables, Timestamp};
use sluice_ir::Config;

use crate::native;

struct Never;

impl Rng for Never {
    fn next_u64(&mut self) -> u64 {
        0
    }
}

/// Compiles a configuration as the filter does.
pub(crate) fn takes(config: &Config) -> Result<(), String> {
    let mut log = sluice_plugin::Log::default();
    log.name_hosts(true);
    log.replace(config);
    native::loses_nothing(config, &log)?;
    let document = PluginConfig::with_tables(Update::Snapshot(log.snapshot())).to_json();
    let read = PluginConfig::parse(&document)
        .map_err(|error| format!("the filter's document: {error}"))?;
    let tables = read.tables.ok_or("a document without tables")?;
    let applied = Tables::default().apply(tables, Timestamp::from_nanos(1), &mut Never);
    applied
        .map(drop)
        .map_err(|refused| format!("the filter: {refused}"))
}
