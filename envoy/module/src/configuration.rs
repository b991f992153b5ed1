//! A configuration of the filter: one for each listener and each of the two filters there, and for each cluster of a mirror.

use sluice_envoy_abi::{Config, FilterConfig};
use sluice_filter_config::host_contract::UNKNOWN_ROUTES;
use sluice_filter_config::{Host, PluginConfig};
use sluice_filter_worker::LogLevel;

use crate::filter::RequestFilter;
use crate::settings::{Role, Settings};
use crate::{envoy_log, feed};

/// A configuration of the filter.
pub struct Configuration(Settings);

impl Configuration {
    /// Reads a configuration; without a result Envoy refuses it, and keeps the last good one.
    pub(crate) fn new(config: &Config<'_>, name: &str, document: &[u8]) -> Option<Self> {
        let bootstrap = match PluginConfig::parse(document) {
            Ok(bootstrap) => bootstrap,
            Err(error) => return refuse(&error.to_string()),
        };
        // A drop-in Envoy has wasm: nobody would keep clients' own headers out of the choice here.
        if bootstrap.host != Some(Host::ManagedEnvoy) {
            return refuse("plugin configuration: host: expected `managed_envoy` for the module");
        }
        if bootstrap.tables.is_some() || bootstrap.zone.is_some() {
            return refuse(
                "plugin configuration: expected no `tables` and no `zone`, which the module has from its log and its bootstrap",
            );
        }
        if !feed::is_started() {
            return refuse(
                "the bootstrap of this Envoy has no extension of the module: write it with `sluice bootstrap --envoy-filter=module`",
            );
        }
        let Some(role) = Role::of_filter(name) else {
            return refuse(&format!(
                "filter {name:?}: this module does not have it; it has to be of the controller's version"
            ));
        };
        Some(Configuration(Settings {
            role,
            unknown_routes: config.counter(UNKNOWN_ROUTES),
        }))
    }
}

impl FilterConfig for Configuration {
    type Filter = RequestFilter;

    fn filter(&self) -> RequestFilter {
        RequestFilter::new(self.0)
    }
}

fn refuse(reason: &str) -> Option<Configuration> {
    envoy_log::write(LogLevel::Error, reason);
    None
}
