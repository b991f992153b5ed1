//! When to translate, and in which order the data plane hears of it.
//!
//! ```text
//!   1. xDS: clusters and endpoints that are new     a pod is known before the filter can choose it
//!   2. the filter's log                             ... and chosen no more before it is gone
//!   3. xDS: routes and listeners
//!   4. xDS: clusters and endpoints that are gone    a little later
//! ```
//!
//! Between 1 and 2 the publisher waits for every Envoy's answer, but never long: the filter's choice of an endpoint
//! that Envoy does not know (yet) is served by Envoy's own balancing.
//!
//! nginx takes its routes from a file and its endpoints from the log alone. A reload takes a while, so the log names what
//! the former configuration led to until all workers have the new one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sluice_ir::{BackendId, Config};
use sluice_translate::{Change, ObjectKey, Options, Resources, Translation, translate};
use sluice_xds::{Settings, Store, Update};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::nginx::Configurations;
use crate::poll::SharedLog;
use crate::reports::Told;
use crate::source::{Event, Problem};

/// Longest wait for the Envoys to have new endpoints, before the filter may choose them.
const ACKNOWLEDGED: Duration = Duration::from_millis(100);
/// How long endpoints and clusters stay in Envoy after the filter was told that they are gone.
const FAREWELL: Duration = Duration::from_millis(50);
/// The same for nginx: it is asked whether it likes its new configuration, reloads, and every worker starts anew.
const NGINX_FAREWELL: Duration = Duration::from_secs(5);

/// What the events of a while come to.
#[derive(Debug, Default)]
struct Pending {
    everything: bool,
    endpoints: BTreeSet<ObjectKey>,
}

/// Turns events into publications, one after the other.
pub(crate) struct Publisher {
    resources: Resources,
    options: Options,
    settings: Settings,
    translation: Translation,
    log: SharedLog,
    store: Store,
    nginx: Option<Configurations>,
    told: Told,
    ready: bool,
    farewell: Option<(Instant, Update)>,
}

impl Publisher {
    pub(crate) fn new(
        options: Options,
        settings: Settings,
        log: SharedLog,
        store: Store,
        told: Told,
    ) -> Self {
        Publisher {
            resources: Resources::default(),
            options,
            settings,
            translation: Translation::default(),
            log,
            store,
            nginx: None,
            told,
            ready: false,
            farewell: None,
        }
    }

    /// Also writes nginx's configurations.
    pub(crate) fn with_nginx(self, nginx: Configurations) -> Self {
        Publisher { nginx: Some(nginx), ..self }
    }

    /// Runs until the source ends.
    pub(crate) async fn run(mut self, mut events: UnboundedReceiver<Vec<Event>>) {
        let mut pending = Pending { everything: true, ..Pending::default() };
        loop {
            let batch = tokio::select! {
                batch = events.recv() => batch,
                () = until(self.farewell.as_ref().map(|(at, _)| *at)) => {
                    self.say_farewell();
                    continue;
                }
            };
            let Some(batch) = batch else { return };
            self.take(batch, &mut pending);
            // What came meanwhile is published together: under churn this bounds the work, not the delay.
            while let Ok(more) = events.try_recv() {
                self.take(more, &mut pending);
            }
            if self.ready {
                self.publish(std::mem::take(&mut pending)).await;
            }
        }
    }

    fn take(&mut self, events: Vec<Event>, pending: &mut Pending) {
        for event in events {
            let change = match event {
                Event::Apply(object) => self.resources.apply(*object),
                Event::Delete(kind, key) => self.resources.delete(kind, &key),
                Event::IngressClassesForbidden => {
                    self.resources.forbid_ingress_classes();
                    Change::Everything
                }
                Event::Problem(problem) => {
                    tell(&problem);
                    Change::Nothing
                }
                Event::Ready => {
                    self.ready = true;
                    Change::Nothing
                }
            };
            match change {
                Change::Nothing => {}
                Change::Endpoints(service) => drop(pending.endpoints.insert(service)),
                Change::Everything => pending.everything = true,
            }
        }
    }

    async fn publish(&mut self, pending: Pending) {
        if pending.everything {
            self.publish_everything().await;
        } else if !pending.endpoints.is_empty() {
            self.publish_endpoints(&pending.endpoints).await;
        } else {
            return;
        }
        self.told.tell(&self.translation);
    }

    /// The short way, at the cost of what changed: only endpoints moved.
    async fn publish_endpoints(&mut self, services: &BTreeSet<ObjectKey>) {
        let before = self.backends_of(services);
        let refreshed = self.translation.refresh_endpoints(services, &self.resources, &self.options);
        let Some(changed) = refreshed else { return self.publish_everything().await };
        let now = &self.translation.config().backends;
        let mut arrivals = Update::default();
        let mut farewell = Update::default();
        for id in &changed {
            let Some(backend) = now.get(id) else { continue };
            let staying = before.get(id).map(|old| old.with_endpoints_of(backend));
            arrivals.endpoints(id, staying.as_ref().unwrap_or(backend));
            farewell.endpoints(id, backend);
        }
        self.announce(arrivals).await;
        self.log.publish(|log| log.refresh(self.translation.config(), &changed));
        self.schedule(farewell);
    }

    fn backends_of(&self, services: &BTreeSet<ObjectKey>) -> BTreeMap<BackendId, sluice_ir::Backend> {
        let config = self.translation.config();
        let ids = services.iter().flat_map(|service| self.translation.backends_of(service));
        ids.filter_map(|id| Some((id.clone(), config.backends.get(id)?.clone()))).collect()
    }

    async fn publish_everything(&mut self) {
        let translation = translate(&self.resources, &self.options);
        let before = std::mem::replace(&mut self.translation, translation);
        let config = self.translation.config();
        self.announce(Update::arrivals(before.config(), config)).await;
        let config = self.translation.config();
        if let Some(nginx) = &self.nginx {
            self.log.publish(|log| log.replace(&config.with_routes_of(before.config())));
            nginx.publish(config);
        } else {
            self.log.publish(|log| log.replace(config));
        }
        self.store.apply(Update::routing(config, &self.settings));
        let farewell = Update::farewells(before.config(), config);
        self.schedule(farewell);
        let Config { servers, backends, .. } = self.translation.config();
        info!("published {} hosts, {} backends", servers.len(), backends.len());
    }

    async fn announce(&mut self, arrivals: Update) {
        let generation = self.store.apply(arrivals);
        self.store.acked(generation, ACKNOWLEDGED).await;
    }

    /// Farewells wait together; none waits longer than the first asked for.
    fn schedule(&mut self, farewell: Update) {
        let after = if self.nginx.is_some() { NGINX_FAREWELL } else { FAREWELL };
        let (_, waiting) = self.farewell.get_or_insert_with(|| (Instant::now() + after, Update::default()));
        waiting.merge(farewell);
    }

    fn say_farewell(&mut self) {
        if let Some((_, farewell)) = self.farewell.take() {
            self.store.apply(farewell);
            if self.nginx.is_some() {
                self.log.publish(|log| log.replace(self.translation.config()));
            }
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn tell(problem: &Problem) {
    if problem.harmless {
        info!("{problem}");
    } else {
        warn!("{problem}");
    }
}
