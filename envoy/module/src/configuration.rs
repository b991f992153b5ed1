//! A configuration of the filter: one for each listener and each of the two filters there.

use sluice_envoy_abi::{Config, FilterConfig, LogLevel, Response};
use sluice_filter_config::PluginConfig;
use sluice_filter_config::host_contract::{LOOKUP_FILTER, UNKNOWN_ROUTES};

use crate::filter::RequestFilter;
use crate::poller::{self, Membership};
use crate::settings::Settings;
use crate::{log, zone};

/// A configuration of the filter.
pub struct Configuration {
    settings: Settings,
    /// Absent where another configuration of the same listener polls, or nobody is to be asked.
    membership: Option<Membership>,
}

impl Configuration {
    /// Reads a bootstrap configuration; without a result Envoy refuses it, and keeps the last good one.
    pub(crate) fn new(config: &Config<'_>, name: &str, document: &[u8]) -> Option<Self> {
        let bootstrap = match PluginConfig::parse(document) {
            Ok(bootstrap) => bootstrap,
            Err(error) => return refuse(&error.to_string()),
        };
        let host = bootstrap.host.unwrap_or_default();
        if host.is_nginx() {
            return refuse("plugin configuration: host: expected one of Envoy's, got nginx's");
        }
        if bootstrap.control.is_none() && bootstrap.tables.is_none() {
            return refuse(
                "plugin configuration: expected `tables`, `control` or both, got neither",
            );
        }
        zone::set(bootstrap.zone);
        // Once the log has begun, a bootstrap configuration is older than what it brought.
        if let Some(tables) = bootstrap.tables.filter(|_| log::version().is_none())
            && let Err(error) = log::publish(tables)
        {
            return refuse(&format!("plugin configuration: {error}"));
        }
        let is_before_lookup = name == LOOKUP_FILTER;
        let settings = Settings {
            host,
            is_before_lookup,
            unknown_routes: config.counter(UNKNOWN_ROUTES),
            may_wait: bootstrap.control.is_some(),
        };
        let control = bootstrap.control.filter(|_| !is_before_lookup);
        Some(Configuration {
            settings,
            membership: control.map(|control| Membership::new(control, config)),
        })
    }
}

impl FilterConfig for Configuration {
    type Filter = RequestFilter;

    fn filter(&self) -> RequestFilter {
        RequestFilter::new(self.settings)
    }

    fn on_event(&self, config: &Config<'_>, event: u64) {
        if let Some(membership) = self.membership.as_ref().filter(|_| event == poller::POLL) {
            membership.poll(config);
        }
    }

    fn on_response(&self, config: &Config<'_>, response: Option<&Response<'_>>) {
        if let Some(membership) = &self.membership {
            membership.on_response(config, response);
        }
    }
}

fn refuse(reason: &str) -> Option<Configuration> {
    sluice_envoy_abi::log(LogLevel::Error, reason);
    None
}
