//! Metrics, under ingress-nginx's names where the meaning is the same (docs/metrics.md has the table).
//!
//! ```text
//!   publisher, admission --count--> controller.rs, admission.rs --+
//!   Envoys' access logs --gRPC--> requests.rs --------------------+
//!   nginx's request log, followed --> requests.rs ---------------+
//!   nginx's span log, exported --> spans.rs ---------------------+
//!   Envoy's admin socket, /proc --ask--> data_plane.rs -----------+--> registry.rs --> text.rs --> pages.rs
//!   View (translation) --read--> controller.rs, objects.rs -------+
//!                                certificates.rs ----------------+
//!   Lease --watched--> election.rs --------------------------------+
//! ```
//!
//! Counters are kept here; gauges that can be read elsewhere are read at each scrape. Tenants write labels: what one may hold
//! (label.rs), the part of a page for each metric (budget.rs) and what of that one namespace may take (room.rs) are limited, and so
//! is what scrapes cost (pages.rs).

mod admission;
mod buckets;
mod budget;
mod certificates;
mod controller;
mod data_plane;
mod election;
#[cfg(test)]
mod fixture;
mod flags;
mod histogram;
mod label;
mod objects;
mod pages;
mod registry;
mod requests;
mod room;
mod series;
mod spans;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

use hyper::body::Bytes;
use prometheus::process_collector::ProcessCollector;
use sluice_kube::Election;
use sluice_xds_server::Store;
use tracing::warn;

pub use admission::Admission;
pub use buckets::{Buckets, HistogramBuckets};
pub use controller::Controller;
pub use data_plane::{DataPlane, DataPlaneMetrics, Running};
pub use flags::MetricsFlags;
pub use pages::{Page, SharedPage};
pub use requests::Requests;
pub use spans::Spans;

use certificates::Certificates;
use election::Leadership;
use label::Label;
use objects::Objects;
use registry::Registry;
use sluice_state::View;
use text::Text;

/// Identity of the controller: labels of all its metrics.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Namespace of the pod.
    pub namespace: String,
    /// Class of the controller.
    pub class: String,
    /// Name of the pod.
    pub pod: String,
}

impl Identity {
    /// Identity of this pod, by the downward API.
    pub fn from_env(controller_class: &str) -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        Identity {
            namespace: variable("POD_NAMESPACE"),
            class: controller_class.to_owned(),
            pod: variable("POD_NAME"),
        }
    }

    fn labels(&self) -> HashMap<String, String> {
        let label = |name: &str, value: &str| {
            let value = Label::of(value).as_str().to_owned();
            (format!("controller_{name}"), value)
        };
        HashMap::from([
            label("namespace", &self.namespace),
            label("class", &self.class),
            label("pod", &self.pod),
        ])
    }
}

/// Every metric. A handle, cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    /// With the identity's labels.
    own: Registry,
    /// Without: the process, and certificates, which have a namespace and a class of their own.
    common: Registry,
    controller: Controller,
    objects: Objects,
    admission: Admission,
    certificates: Certificates,
    leadership: Leadership,
    spans: Spans,
    data_plane: DataPlane,
    /// `None`: not enabled.
    requests: Option<Requests>,
    view: View,
    store: Store,
    page: SharedPage,
}

impl Metrics {
    /// Registers all metrics; those of requests with flags only.
    pub fn new(
        identity: &Identity,
        view: View,
        store: Store,
        data_plane: DataPlane,
        flags: Option<&MetricsFlags>,
    ) -> prometheus::Result<Self> {
        let own = Registry::with_labels(identity.labels())?;
        let common = Registry::default();
        common.register(Box::new(ProcessCollector::for_self()))?;
        let controller = Controller::register(&own)?;
        let objects = Objects::register(&own)?;
        let admission = Admission::register(&own)?;
        let certificates = Certificates::register(&common, identity)?;
        let leadership = Leadership::register(&own)?;
        let spans = Spans::register(&own)?;
        data_plane.register(&own)?;
        let requests = flags
            .map(|flags| Requests::register(&own, flags, view.clone()))
            .transpose()?;
        Ok(Metrics(Arc::new(Inner {
            own,
            common,
            controller,
            objects,
            admission,
            certificates,
            leadership,
            spans,
            data_plane,
            requests,
            view,
            store,
            page: SharedPage::default(),
        })))
    }

    /// Metrics of the controller's own work.
    pub fn controller(&self) -> &Controller {
        &self.0.controller
    }

    /// Metrics of client requests, if enabled.
    pub fn requests(&self) -> Option<&Requests> {
        self.0.requests.as_ref()
    }

    /// Metrics of the spans that the controller sends.
    pub fn spans(&self) -> &Spans {
        &self.0.spans
    }

    /// Metrics of admission reviews.
    pub fn admission(&self) -> &Admission {
        &self.0.admission
    }

    /// Takes part in an election.
    pub fn follow_election(&self, election: Election) {
        self.0.leadership.follow(election);
    }

    /// Everything, in the text format of Prometheus, of now or of a second ago.
    ///
    /// # Errors
    ///
    /// It could not be made, for this reason.
    pub async fn page(&self) -> Result<Page, String> {
        self.0.page.get(|| self.clone().render()).await
    }

    async fn render(self) -> Result<Vec<Bytes>, String> {
        self.0.data_plane.refresh().await;
        // Of many Ingresses that takes a while, in which this thread has others to serve.
        let chunks = tokio::task::spawn_blocking(move || self.0.chunks()).await;
        let chunks = chunks.inspect_err(|error| warn!("metrics: {error}"));
        chunks.map_err(|_| "metrics could not be read; the log says why".to_owned())
    }
}

impl Inner {
    /// From what is read off others to the text: pages are made one at a time.
    fn chunks(&self) -> Vec<Bytes> {
        self.controller.refresh(&self.view, &self.store);
        let snapshot = self.view.snapshot();
        self.objects.refresh(&snapshot);
        self.certificates.refresh(snapshot.config());
        self.leadership.refresh();
        self.requests.iter().for_each(Requests::refresh);
        let mut text = Text::default();
        self.own.write(&mut text);
        self.common.write(&mut text);
        text.into_chunks()
    }
}

#[cfg(test)]
mod tests;
