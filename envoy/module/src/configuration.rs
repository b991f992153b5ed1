//! A configuration of the filter: one for each listener and each of the two filters there.

use sluice_envoy_abi::{Config, FilterConfig, LogLevel, Response};
use sluice_filter_config::host_contract::{LOOKUP_FILTER, UNKNOWN_ROUTES};
use sluice_filter_config::{Host, PluginConfig};

use crate::filter::RequestFilter;
use crate::poller::{self, Registration};
use crate::settings::Settings;
use crate::{log, zone};

/// A configuration of the filter.
pub struct Configuration {
    settings: Settings,
    /// Absent where another configuration of the same listener polls, or nobody is to be asked.
    registration: Option<Registration>,
}

impl Configuration {
    /// Reads a bootstrap configuration; without a result Envoy refuses it, and keeps the last good one.
    pub(crate) fn new(config: &Config<'_>, name: &str, document: &[u8]) -> Option<Self> {
        let bootstrap = match PluginConfig::parse(document) {
            Ok(bootstrap) => bootstrap,
            Err(error) => return refuse(&error.to_string()),
        };
        // A drop-in Envoy has wasm: nobody would keep clients' own headers out of the choice here.
        if bootstrap.host != Some(Host::ManagedEnvoy) {
            return refuse("plugin configuration: host: expected `managed_envoy` for the module");
        }
        if bootstrap.control.is_none() && bootstrap.tables.is_none() {
            return refuse(
                "plugin configuration: expected `tables`, `control` or both, got neither",
            );
        }
        // Once the log has begun, a bootstrap configuration is older than what it brought.
        if let Some(tables) = bootstrap.tables.filter(|_| log::version().is_none())
            && let Err(error) = log::publish(tables)
        {
            return refuse(&format!("plugin configuration: {error}"));
        }
        zone::set(bootstrap.zone);
        let is_before_lookup = name == LOOKUP_FILTER;
        let settings = Settings {
            is_before_lookup,
            unknown_routes: config.counter(UNKNOWN_ROUTES),
            may_wait: bootstrap.control.is_some(),
        };
        let control = bootstrap.control.filter(|_| !is_before_lookup);
        Some(Configuration {
            settings,
            registration: control.map(|control| Registration::new(control, config)),
        })
    }
}

impl FilterConfig for Configuration {
    type Filter = RequestFilter;

    fn filter(&self) -> RequestFilter {
        RequestFilter::new(self.settings)
    }

    fn on_event(&self, config: &Config<'_>, event: u64) {
        if let Some(registration) = self.registration.as_ref().filter(|_| event == poller::POLL) {
            registration.poll(config);
        }
    }

    fn on_response(&self, config: &Config<'_>, response: Option<&Response<'_>>) {
        if let Some(registration) = &self.registration {
            registration.on_response(config, response);
        }
    }
}

fn refuse(reason: &str) -> Option<Configuration> {
    sluice_envoy_abi::log(LogLevel::Error, reason);
    None
}
