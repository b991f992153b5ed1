//! Directives of `http {}` that routes need, beside what is in their servers.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{BackendId, Server};

use crate::kong::RetryKind;
use crate::location::cors::{self, Sent};
use crate::location::headers;
use crate::location::limits::{self, Zone};
use crate::location::mirror::{self, Sampled};
use crate::settings::Settings;
use crate::tracked_config::TrackedConfig;

/// Needs of the routes of one server, or of several. Those of most are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Needs {
    /// Request headers that a filter adds to, as nginx's variables name them.
    pub(crate) appended: BTreeSet<String>,
    /// A route has `X-Forwarded-Prefix` with captured groups in it.
    pub(crate) captured_prefix: bool,
    pub(crate) cors: BTreeSet<Sent>,
    /// By their names.
    pub(crate) zones: BTreeMap<String, Zone>,
    /// Targets of mirrors that need a relay.
    pub(crate) relayed: BTreeSet<BackendId>,
    pub(crate) sampled: BTreeSet<Sampled>,
    /// In Kong's host.
    pub(crate) retries: BTreeSet<RetryKind>,
}

/// Needs of many servers, each kind of needs once with the number of servers that have it.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllNeeds(BTreeMap<Needs, usize>);

impl Needs {
    pub(crate) fn of_server(
        server: &Server,
        config: &TrackedConfig<'_>,
        settings: &Settings,
    ) -> Self {
        let mut needs = Needs::default();
        for route in &server.routes {
            needs.appended.extend(headers::appended(route));
            needs.captured_prefix |= headers::captured_prefix(route).is_some();
            let cors = route.policy.cors.iter();
            needs.cors.extend(cors.flat_map(cors::all_sent));
            if let Some(limits) = &route.policy.limits {
                let zone = limits::zone(limits);
                needs.zones.entry(zone.name.clone()).or_insert(zone);
            }
            let relayed = mirror::relayed(route, config);
            needs.relayed.extend(relayed.cloned());
            needs.sampled.extend(mirror::sampled(route, config));
            if settings.engine.is_kongs() {
                needs.retries.extend(RetryKind::of_route(route));
            }
        }
        needs
    }

    /// Adds those of others. Every field is named, so that a new one cannot be forgotten here.
    pub(crate) fn merge(&mut self, other: &Needs) {
        let Needs {
            appended,
            captured_prefix,
            cors,
            zones,
            relayed,
            sampled,
            retries,
        } = other;
        self.appended.extend(appended.iter().cloned());
        self.captured_prefix |= captured_prefix;
        self.cors.extend(cors.iter().cloned());
        for (name, zone) in zones {
            self.zones
                .entry(name.clone())
                .or_insert_with(|| zone.clone());
        }
        self.relayed.extend(relayed.iter().cloned());
        self.sampled.extend(sampled.iter().cloned());
        self.retries.extend(retries);
    }
}

impl AllNeeds {
    pub(crate) fn add(&mut self, needs: &Needs) {
        if *needs != Needs::default() {
            *self.0.entry(needs.clone()).or_default() += 1;
        }
    }

    pub(crate) fn remove(&mut self, needs: &Needs) {
        let Some(count) = self.0.get_mut(needs) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.0.remove(needs);
        }
    }

    /// All of them together.
    pub(crate) fn merged(&self) -> Needs {
        let mut all = Needs::default();
        self.0.keys().for_each(|needs| all.merge(needs));
        all
    }
}
