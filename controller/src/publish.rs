//! When to translate, and in which order the data plane hears of it.
//!
//! ```text
//!   1. xDS: clusters and endpoints that are new     a pod is known before the filter can choose it
//!   2. the filter's log                             ... and chosen no more before it is gone
//!   3. who may come in, for those who ask; xDS: routes and listeners
//!   4. xDS: clusters and endpoints that are gone    a little later
//! ```
//!
//! Between 1 and 2 the publisher waits for every Envoy's answer, but never long: the filter's choice of an endpoint
//! that Envoy does not know (yet) is served by Envoy's own balancing.
//!
//! nginx takes its routes from a file and its endpoints from the log alone. A reload takes a while, so the log names what
//! the former configuration led to until all workers have the new one.

use std::time::Duration;

use sluice_ir::Config;
use sluice_translate::{Change, Changes, Options, Report, Updated};
use sluice_xds::{Discovery, Routes, Settings, Store, Update};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::guard::Guards;
use crate::metrics::Controller;
use crate::nginx::Configurations;
use crate::poll::SharedLog;
use crate::reports::Told;
use crate::source::{Event, Problem};
use crate::view::View;

/// Longest wait for the Envoys to have new endpoints, before the filter may choose them.
const ACKNOWLEDGED: Duration = Duration::from_millis(100);
/// How long endpoints and clusters stay in Envoy after the filter was told that they are gone.
const FAREWELL: Duration = Duration::from_millis(50);
/// The same for nginx: it is asked whether it likes its new configuration, reloads, and every worker starts anew.
const NGINX_FAREWELL: Duration = Duration::from_secs(5);

/// What data planes read.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// The filter.
    pub(crate) log: SharedLog,
    /// Envoy's configuration.
    pub(crate) store: Store,
    /// Envoy, for each request that is asked about.
    pub(crate) guards: Guards,
}

/// Turns events into publications, one after the other.
pub(crate) struct Publisher {
    view: View,
    options: Options,
    settings: Settings,
    served: Served,
    metrics: Controller,
    routes: Routes,
    nginx: Option<Configurations>,
    told: Told,
    /// What nginx does not serve.
    unserved: Vec<Report>,
    ready: bool,
    farewell: Option<(Instant, Update)>,
}

impl Publisher {
    pub(crate) fn new(
        options: Options,
        settings: Settings,
        served: Served,
        view: View,
        metrics: Controller,
        told: Told,
    ) -> Self {
        let (routes, nginx) = (Routes::default(), None);
        let (unserved, ready, farewell) = (Vec::new(), false, None);
        Publisher { view, options, settings, served, metrics, routes, nginx, told, unserved, ready, farewell }
    }

    /// Also writes nginx's configurations.
    pub(crate) fn with_nginx(self, nginx: Configurations) -> Self {
        Publisher { nginx: Some(nginx), ..self }
    }

    /// Runs until the source ends.
    pub(crate) async fn run(mut self, mut events: UnboundedReceiver<Vec<Event>>) {
        let mut pending = Changes::everything();
        loop {
            let batch = tokio::select! {
                batch = events.recv() => batch,
                () = until(self.farewell.as_ref().map(|(at, _)| *at)) => {
                    let _busy = self.view.progress().begin();
                    self.say_farewell();
                    continue;
                }
            };
            let Some(batch) = batch else { return };
            let _busy = self.view.progress().begin();
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

    fn take(&mut self, events: Vec<Event>, pending: &mut Changes) {
        let mut resources = self.view.resources_mut();
        for event in events {
            let change = match event {
                Event::Apply(object) => resources.apply(object),
                Event::Delete(kind, key) => resources.delete(kind, &key),
                Event::IngressClassesForbidden => {
                    resources.forbid_ingress_classes();
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
            pending.add(change);
        }
    }

    async fn publish(&mut self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        let (before, updated) = self.translate(&changes);
        match before {
            Some(before) => self.publish_routes(&before).await,
            None if updated.backends.is_empty() => {}
            None => self.publish_endpoints(&updated).await,
        }
        self.view.progress().note_published();
        self.told.tell(&self.view.translation(), &self.unserved);
    }

    /// Brings the translation up to date. Says what was served before, unless backends alone are not as they were.
    fn translate(&self, changes: &Changes) -> (Option<Config>, Updated) {
        let mut translation = self.view.translation_mut();
        let before = (!changes.is_of_endpoints()).then(|| translation.config().clone());
        let updated = translation.update(changes, &self.view.resources(), &self.options);
        self.metrics.translated(&updated);
        // Missing pods move requests to those who tell about errors.
        let moved = || (!updated.servers.is_empty()).then(|| updated.undone(translation.config()));
        (before.or_else(moved), updated)
    }

    /// The short way, at the cost of what changed: only endpoints moved.
    async fn publish_endpoints(&mut self, updated: &Updated) {
        let (mut arrivals, mut farewell) = (Update::default(), Update::default());
        for (id, before) in &updated.backends {
            let translation = self.view.translation();
            let Some(backend) = translation.config().backends.get(id) else { continue };
            let staying = before.as_ref().map(|old| old.with_endpoints_of(backend));
            arrivals.endpoints(id, staying.as_ref().unwrap_or(backend));
            farewell.endpoints(id, backend);
        }
        self.announce(arrivals).await;
        if let Some(nginx) = &self.nginx {
            nginx.publish_pods(&self.view.translation());
        }
        self.served.log.publish(|log| log.refresh(self.view.translation().config(), updated.backends.keys()));
        self.schedule(farewell);
    }

    async fn publish_routes(&mut self, before: &Config) {
        let arrivals = Update::arrivals(before, self.view.translation().config());
        self.announce(arrivals).await;
        let farewell = self.lead_there(before);
        self.schedule(farewell);
    }

    /// Lets the filter and the routes use what is known by now; returns what can go then.
    fn lead_there(&mut self, before: &Config) -> Update {
        let translation = self.view.translation();
        let config = translation.config();
        self.served.guards.publish(config, Some(before));
        if let Some(nginx) = &self.nginx {
            self.served.log.publish(|log| log.replace(&config.with_routes_of(before)));
            self.unserved = nginx.publish(&translation);
        } else {
            let routing =
                Update::routing_with(&mut self.routes, config, &self.settings, Instant::now().into_std());
            let scopes = self.routes.is_in_use(Discovery::Scopes);
            self.served.log.publish(|log| {
                log.name_hosts(scopes);
                log.advance(before, config)
            });
            self.served.store.apply(routing);
            self.metrics.rendered(&self.routes);
            self.metrics.published(self.served.log.content());
        }
        let Config { servers, backends, .. } = config;
        info!("published {} hosts, {} backends", servers.len(), backends.len());
        Update::farewells(before, config)
    }

    async fn announce(&mut self, arrivals: Update) {
        // With nginx there is no Envoy to tell.
        if self.nginx.is_none() {
            let generation = self.served.store.apply(arrivals);
            self.served.store.acked(generation, ACKNOWLEDGED).await;
        }
    }

    /// Farewells wait together; none waits longer than the first asked for.
    fn schedule(&mut self, farewell: Update) {
        let after = if self.nginx.is_some() { NGINX_FAREWELL } else { FAREWELL };
        let (_, waiting) = self.farewell.get_or_insert_with(|| (Instant::now() + after, Update::default()));
        waiting.merge(farewell);
    }

    fn say_farewell(&mut self) {
        if let Some((_, farewell)) = self.farewell.take() {
            let translation = self.view.translation();
            self.served.guards.settle(translation.config());
            if self.nginx.is_some() {
                self.served.log.publish(|log| log.replace(translation.config()));
            } else {
                self.served.store.apply(farewell);
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
