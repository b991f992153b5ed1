//! Publication: when to translate, and in which order data planes get the result.
//!
//! ```text
//!   1. xDS: new clusters and endpoints         an endpoint is known before the filter can choose it
//!   2. the filter's log                        ... and not chosen any more before it is removed
//!   3. access control; xDS: routes and listeners
//!   4. xDS: removed clusters and endpoints     a little later
//! ```
//!
//! Between 1 and 2 the publisher waits for the responses of all Envoys, but never long: if Envoy does not know an endpoint
//! (yet) that the filter chose, its own balancing serves the request.
//!
//! CPU and disk work runs in [`block_in_place`]: authorization is answered by the other threads meanwhile, from the last
//! publication.
//!
//! nginx takes routes from files and endpoints from the log alone. The files come first: workers look at their host table when they get
//! what is new in the log. A reload takes a while, so the log keeps the backends of the former configuration until all workers
//! have the new one.

mod acknowledgements;
mod contain;
#[cfg(debug_assertions)]
mod fault;
mod feedback;
mod firewall;
mod inputs;
mod nginx_reports;
mod posted;
mod releases;
mod reload_events;
mod removals;
mod report_log;
mod sizes;
mod unwritten;

use std::sync::Arc;
use std::time::Duration;

use sluice_ir::Config;
use sluice_translate::{Changes, Options, Report, Snapshot, Translation, Updated};
use sluice_xds::render::moves_balancing;
use sluice_xds::{Discovery, RoutingCache, Settings, Update, publication};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::block_in_place;
use tokio::time::Instant;

use acknowledgements::Acknowledgements;
use contain::Incidents;
use feedback::Feedback;
pub use feedback::LoadResult;
use nginx_reports::NginxReports;
pub use nginx_reports::SettingsOwners;
use posted::Posted;
use releases::Releases;
pub use reload_events::ReloadEvents;
use removals::Removals;
pub use report_log::ReportLog;
use sizes::Sizes;
use sluice_dataplane::nginx::{Configurations, Published};
use sluice_health::Checks;
use sluice_metrics::Controller;
use sluice_quarantine::Quarantine;
use sluice_resolver::Names;
use sluice_server::Served;
use sluice_source::Event;
use sluice_state::View;
use sluice_xds_server::Batch;
use unwritten::Unwritten;

/// Longest wait for Envoys to acknowledge new endpoints before the filter may choose them.
const ACKNOWLEDGED: Duration = Duration::from_millis(100);

/// Turns events into publications, one after the other.
pub struct Publisher {
    view: View,
    /// Translation of all objects.
    translation: Translation,
    /// The same, as readers see it.
    snapshot: Arc<Snapshot>,
    /// The last published configuration: the translation, without rejected parts.
    effective: Config,
    quarantine: Quarantine,
    feedback: Feedback,
    /// Configurations that workers of nginx may have, old and new together: the content of the log. `None`: it is `effective`.
    known: Option<Config>,
    /// Data planes have accepted the last publication.
    is_accepted: bool,
    incidents: Incidents,
    releases: Releases,
    options: Options,
    settings: Settings,
    served: Served,
    metrics: Controller,
    rendered: RoutingCache,
    nginx: Option<Configurations>,
    unwritten: Unwritten,
    nginx_reports: NginxReports,
    report_log: ReportLog,
    /// Reports on what nginx does not support.
    unsupported_by_nginx: Vec<Report>,
    /// Reports on firewalls that Envoy cannot have.
    unserved_firewalls: Vec<Report>,
    /// Reports on resources, other than routes, that Envoy rejected.
    refused_resources: Vec<Report>,
    ready: bool,
    removals: Option<Removals>,
    acknowledgements: Acknowledgements,
    names: Names,
    checks: Checks,
    sizes: Sizes,
    posted: Option<Posted>,
}

impl Publisher {
    /// A publisher to Envoys, with nothing published yet.
    pub fn new(
        options: Options,
        settings: Settings,
        served: Served,
        view: View,
        metrics: Controller,
        report_log: ReportLog,
        (names, checks): (Names, Checks),
    ) -> Self {
        let (rendered, nginx) = (RoutingCache::default(), None);
        let (unsupported_by_nginx, refused_resources, ready, removals) =
            (Vec::new(), Vec::new(), false, None);
        let (translation, snapshot, effective) = Default::default();
        let (quarantine, incidents, acknowledgements, nginx_reports) = Default::default();
        let unwritten = Unwritten::default();
        let feedback = Feedback::of_envoys(served.store.clone());
        if let Some(configmap) = &options.configmap {
            view.resources_mut().hold_config_map(configmap.clone());
        }
        Publisher {
            view,
            translation,
            snapshot,
            effective,
            quarantine,
            feedback,
            known: None,
            is_accepted: false,
            incidents,
            releases: Releases::default(),
            options,
            settings,
            served,
            metrics,
            rendered,
            nginx,
            unwritten,
            nginx_reports,
            report_log,
            unsupported_by_nginx,
            unserved_firewalls: Vec::new(),
            refused_resources,
            ready,
            removals,
            acknowledgements,
            names,
            checks,
            sizes: Sizes::default(),
            posted: None,
        }
    }

    /// Also writes nginx's configurations.
    pub fn with_nginx(
        self,
        nginx: Configurations,
        owners: SettingsOwners,
        load_results: UnboundedReceiver<LoadResult>,
    ) -> Self {
        Publisher {
            nginx: Some(nginx),
            nginx_reports: NginxReports::new(owners),
            feedback: Feedback::of_nginx(load_results),
            ..self
        }
    }

    /// Runs until the source ends.
    pub async fn run(mut self, mut events: UnboundedReceiver<Vec<Event>>) {
        let mut pending = Changes::everything();
        loop {
            let batch = tokio::select! {
                batch = events.recv() => batch,
                (backend, health) = self.checks.next() => {
                    self.take_health(backend, health, &mut pending);
                    Some(Vec::new())
                }
                (name, resolution) = self.names.next() => {
                    self.take_resolution(name, resolution, &mut pending);
                    Some(Vec::new())
                }
                post = Posted::next(&mut self.posted) => {
                    self.take_post(post).await;
                    continue;
                }
                decision = self.feedback.next() => {
                    self.take_decision(decision).await;
                    continue;
                }
                () = until(self.removals.as_ref().map(|removals| removals.at)) => {
                    if self.are_removals_due() {
                        let _busy = self.view.progress().begin();
                        block_in_place(|| self.apply_removals());
                    }
                    continue;
                }
                () = until(self.unwritten.next_try()) => {
                    let _busy = self.view.progress().begin();
                    block_in_place(|| self.publish_routing(&self.effective.clone()));
                    continue;
                }
                () = until(self.releases.at()) => {
                    self.try_release().await;
                    continue;
                }
                () = until(self.acknowledgements.next_check()) => {
                    self.acknowledgements.check(&self.served.store);
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
            while let Some((backend, health)) = self.checks.try_next() {
                self.take_health(backend, health, &mut pending);
            }
            while let Some((name, resolution)) = self.names.try_next() {
                self.take_resolution(name, resolution, &mut pending);
            }
            if self.ready {
                self.publish(std::mem::take(&mut pending)).await;
            }
        }
    }

    async fn publish(&mut self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        let updated = block_in_place(|| self.translate(&changes));
        self.follow_names(&updated);
        self.follow_endpoints(&updated);
        if !self.view.progress().is_published() {
            self.wait_for_names().await;
        }
        let is_replaced = self.replace_posted(&updated);
        let effective = self.prepared().await;
        let effective = self.with_posted(effective);
        let before = std::mem::replace(&mut self.effective, effective);
        let are_routes = is_replaced || !changes.is_of_endpoints() || !updated.servers.is_empty();
        // Missing pods move requests to error services, and the first backup leaves routes to the filter.
        if are_routes || self.moves(&updated) {
            self.incidents.begin_anew();
            self.publish_routes(&before).await;
        } else if !updated.backends.is_empty() {
            self.publish_endpoints(&updated).await;
        }
        self.view.progress().note_published();
        self.report();
    }

    /// True if somebody else balances a backend now.
    fn moves(&self, updated: &Updated) -> bool {
        let backends = &self.effective.backends;
        self.effective.global.native_balancing
            && updated
                .backends
                .iter()
                .any(|(id, before)| moves_balancing(before.as_ref(), backends.get(id)))
    }

    /// The fast path, at the cost of the changed backends: only endpoints changed.
    async fn publish_endpoints(&mut self, updated: &Updated) {
        let (mut additions, mut removals) = (Update::default(), Update::default());
        for (id, before) in &updated.backends {
            let Some(backend) = self.effective.backends.get(id) else {
                continue;
            };
            let staying = before.as_ref().map(|old| backend.with_leaving(old));
            publication::set_endpoints(&mut additions, id, staying.as_ref().unwrap_or(backend));
            publication::set_endpoints(&mut removals, id, backend);
        }
        self.add_resources(additions).await;
        block_in_place(|| {
            let nginx = self.nginx.as_ref();
            // What else is not written is not mended by this.
            if nginx.is_some_and(|nginx| !nginx.publish_endpoints(&self.effective)) {
                self.unwritten.note(false);
                self.metrics.unwritten(true);
            }
            if let Some(known) = &mut self.known {
                known.take_backends_of(&self.effective, updated.backends.keys());
            }
            self.served
                .log
                .publish(|log| log.refresh(&self.effective, updated.backends.keys()));
        });
        self.schedule_removals(removals);
    }

    async fn publish_routes(&mut self, before: &Config) {
        let config = &self.effective;
        #[cfg(debug_assertions)]
        let config = &*fault::for_envoys(config);
        let additions = block_in_place(|| publication::additions(before, config));
        #[cfg(debug_assertions)]
        let additions = fault::spoil(additions);
        self.add_resources(additions).await;
        let removals = block_in_place(|| self.publish_routing(before));
        self.schedule_removals(removals);
    }

    /// Publishes routes, and the filter's tables; returns the resources that nothing uses after that.
    fn publish_routing(&mut self, before: &Config) -> Update {
        let lingering = self.still_served(before);
        let (config, before_and_accepted) = (&self.effective, lingering.as_ref().unwrap_or(before));
        let is_loaded = std::mem::take(&mut self.is_accepted);
        self.served
            .authorizer
            .publish(config, Some(before_and_accepted));
        if let Some(nginx) = &self.nginx {
            // Old workers live on for a while, and another change may follow before they are gone.
            let known = config.with_routes_of(self.known.as_ref().unwrap_or(before_and_accepted));
            let staged = nginx.stage(config, is_loaded);
            let table = staged.table();
            let logged = self.known.as_ref().unwrap_or(before);
            self.served
                .log
                .publish(|log| log.advance_with_host_table(logged, &known, table));
            self.known = Some(known);
            let Published {
                content,
                is_complete,
                unsupported,
            } = nginx.publish(staged);
            if let Some(content) = content {
                self.feedback.await_content(content);
            }
            self.unwritten.note(is_complete);
            self.metrics.unwritten(!is_complete);
            self.unsupported_by_nginx = self.nginx_reports.reports(unsupported, &self.snapshot);
        } else {
            #[cfg(debug_assertions)]
            let config = &*fault::for_envoys(config);
            let mut batch = Batch::new(&self.served.store);
            let routing = publication::routing_with(
                &mut self.rendered,
                config,
                &self.settings,
                Instant::now().into_std(),
                &mut |part| batch.add(part),
            );
            #[cfg(debug_assertions)]
            let routing = fault::spoil(routing);
            let scopes = self.rendered.routes.is_in_use(Discovery::Scopes);
            self.served.log.publish(|log| {
                log.name_hosts(scopes);
                log.advance(before, config)
            });
            batch.add(routing);
            let generation = batch.publish();
            self.feedback.await_generation(generation);
            self.acknowledgements.published(generation);
            self.metrics.rendered(&self.rendered.routes);
            self.metrics.published(self.served.log.content());
        }
        let removals = publication::removals(before, config);
        let resources = self.view.resources();
        self.sizes.log(&self.effective, &resources, &self.options);
        removals
    }

    async fn add_resources(&mut self, additions: Update) {
        if self.nginx.is_none() {
            let generation = block_in_place(|| self.served.store.apply(additions));
            self.served.store.answered(generation, ACKNOWLEDGED).await;
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
