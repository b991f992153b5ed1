//! `status.loadBalancer` of our Ingresses, written by the leader only.
//!
//! ```text
//!   IngressRef (what each says now) --+
//!   addresses (asked for now and then) --+--> those that differ --server-side apply, ten at a time--> API server
//! ```
//!
//! Nothing is written that is there already, so an idle cluster sees no write at all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::networking::v1::{Ingress, IngressLoadBalancerIngress};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use sluice_translate::ObjectKey;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

pub use crate::addresses::Publish;
use crate::addresses::{own_labels, sorted};
use crate::identity::{Identity, MANAGER};
use crate::watch::{IngressRef, IngressStatus};

/// Writes at the same time, as ingress-nginx.
const AT_ONCE: usize = 10;
/// One write, or one look at the addresses, takes no longer.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Between two looks at a Service that has no address yet: ingress-nginx's shortest interval.
const WAITING: Duration = Duration::from_secs(5);
/// Time in which changes are collected into one write.
const GATHER: Duration = Duration::from_millis(200);

/// Settings of the operator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses for Ingresses.
    pub publish: Publish,
    /// Between two looks at the addresses.
    pub interval: Duration,
    /// True if the last replica to stop removes the addresses.
    pub clear_on_shutdown: bool,
}

type Addresses = Vec<IngressLoadBalancerIngress>;

/// Writes status.
pub(crate) struct Writer {
    client: Client,
    identity: Identity,
    settings: Settings,
    leads: watch::Receiver<bool>,
    ingresses: BTreeMap<ObjectKey, IngressStatus>,
    /// Target addresses; `None` until they are known.
    wanted: Option<Addresses>,
    /// Those to look at again.
    due: BTreeSet<ObjectKey>,
    complaint: Option<String>,
}

impl Writer {
    pub(crate) fn new(
        client: Client,
        identity: Identity,
        settings: Settings,
        leads: watch::Receiver<bool>,
    ) -> Self {
        let (ingresses, due) = (BTreeMap::new(), BTreeSet::new());
        Writer {
            client,
            identity,
            settings,
            leads,
            ingresses,
            wanted: None,
            due,
            complaint: None,
        }
    }

    /// Runs until it is stopped, then removes our addresses if no other replica serves.
    pub(crate) async fn run(
        mut self,
        mut changed_ingresses: mpsc::UnboundedReceiver<Vec<IngressRef>>,
        stop: CancellationToken,
    ) {
        let mut look_at = Instant::now();
        let mut led = false;
        loop {
            let leads = *self.leads.borrow_and_update();
            if leads && (!led || look_at <= Instant::now()) {
                self.look_at_addresses().await;
                look_at = Instant::now() + self.until_next_look();
            }
            led = leads;
            if leads {
                self.write_what_differs().await;
            }
            tokio::select! {
                () = stop.cancelled() => break,
                changed = self.leads.changed() => if changed.is_err() { return },
                () = tokio::time::sleep_until(look_at), if leads => {}
                seen = changed_ingresses.recv() => {
                    let Some(seen) = seen else { return };
                    self.see(seen);
                    tokio::time::sleep(GATHER).await;
                    while let Ok(seen) = changed_ingresses.try_recv() {
                        self.see(seen);
                    }
                }
            }
        }
        self.leave().await;
    }

    fn see(&mut self, changed_ingresses: Vec<IngressRef>) {
        for IngressRef { key, status } in changed_ingresses {
            match status {
                Some(status) => {
                    self.due.insert(key.clone());
                    self.ingresses.insert(key, status);
                }
                None => {
                    self.due.remove(&key);
                    self.ingresses.remove(&key);
                }
            }
        }
    }

    async fn look_at_addresses(&mut self) {
        let asked = self
            .settings
            .publish
            .addresses(&self.client, &self.identity);
        match timeout(TIMEOUT, asked).await {
            Ok(Ok(addresses)) => {
                match self.settings.publish.awaited(&addresses) {
                    Some(service) => self.complain(format!(
                        "--publish-service {service} has no address yet; asked again every {WAITING:?}"
                    )),
                    None => self.complaint = None,
                }
                self.wanted = Some(addresses);
                // Failed writes, and writes of others, are checked again, too.
                self.due = self.ingresses.keys().cloned().collect();
            }
            Ok(Err(error)) => self.complain_of_unknown(&format!("{error:#}")),
            Err(_) => self.complain_of_unknown(&format!("no answer in {TIMEOUT:?}")),
        }
    }

    /// An address that is waited for gets into the status soon after it is there, however long the interval.
    fn until_next_look(&self) -> Duration {
        let wanted = self.wanted.as_deref();
        let is_waiting =
            wanted.is_some_and(|wanted| self.settings.publish.awaited(wanted).is_some());
        if is_waiting {
            WAITING.min(self.settings.interval)
        } else {
            self.settings.interval
        }
    }

    fn complain_of_unknown(&mut self, reason: &str) {
        self.complain(format!(
            "the addresses are not known: {reason}; nothing is written"
        ));
    }

    /// The same complaint is not made every minute.
    fn complain(&mut self, complaint: String) {
        if self.complaint.as_ref() != Some(&complaint) {
            warn!("status of Ingresses: {complaint}");
            self.complaint = Some(complaint);
        }
    }

    async fn write_what_differs(&mut self) {
        let Some(wanted) = self.wanted.clone() else {
            return;
        };
        let due = std::mem::take(&mut self.due);
        let different = due.into_iter().filter_map(|key| {
            let status = self.ingresses.get(&key)?;
            let differs = sorted(status.addresses.clone()) != wanted;
            differs.then(|| self.write(key, status.uid.clone(), &wanted))
        });
        let different: Vec<_> = different.collect();
        if different.is_empty() {
            return;
        }
        let written: Vec<_> = futures::stream::iter(different)
            .buffered(AT_ONCE)
            .collect()
            .await;
        let mut count = 0;
        for key in written.into_iter().flatten() {
            count += 1;
            if let Some(status) = self.ingresses.get_mut(&key) {
                // The watch will say the same; until then it is not written again.
                status.addresses.clone_from(&wanted);
            }
        }
        info!("status of {count} Ingresses written");
    }

    /// `None`: not written; the next look at the addresses brings it up again.
    async fn write(&self, key: ObjectKey, uid: String, wanted: &Addresses) -> Option<ObjectKey> {
        // If the lead is lost in the middle of this, the next leader does the rest.
        if !*self.leads.borrow() {
            return None;
        }
        let status = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            // The UID keeps an Ingress that was deleted and made anew from getting what was meant for the old one.
            "metadata": { "name": key.name, "namespace": key.namespace, "uid": uid },
            "status": { "loadBalancer": { "ingress": wanted } },
        });
        let api: Api<Ingress> = Api::namespaced(self.client.clone(), &key.namespace);
        let parameters = PatchParams::apply(MANAGER).force();
        let patch = Patch::Apply(&status);
        match timeout(TIMEOUT, api.patch_status(&key.name, &parameters, &patch)).await {
            Ok(Ok(_)) => return Some(key),
            // Deleted meanwhile: nothing to say.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {
                debug!("{key}: {status}");
            }
            Ok(Err(error)) => warn!("status of Ingress {key}: {error}"),
            Err(_) => warn!("status of Ingress {key}: no answer in {TIMEOUT:?}"),
        }
        None
    }

    /// Removes the addresses, if no replica is left to serve them: the rules are ingress-nginx's.
    async fn leave(&mut self) {
        if !*self.leads.borrow() {
            return;
        }
        if !self.settings.clear_on_shutdown {
            info!("status of Ingresses left as it is (--update-status-on-shutdown=false)");
            return;
        }
        match timeout(TIMEOUT, self.others_serve()).await {
            Ok(Ok(false)) => {
                info!(
                    "no other replica serves: removing the addresses from the status of Ingresses"
                );
                self.wanted = Some(Vec::new());
                self.due = self.ingresses.keys().cloned().collect();
                self.write_what_differs().await;
            }
            Ok(Ok(true)) => info!("status of Ingresses left to the next leader"),
            Ok(Err(error)) => warn!("status of Ingresses left as it is: {error:#}"),
            Err(_) => warn!("status of Ingresses left as it is: no answer in {TIMEOUT:?}"),
        }
    }

    async fn others_serve(&self) -> anyhow::Result<bool> {
        let addresses = self
            .settings
            .publish
            .addresses(&self.client, &self.identity)
            .await?;
        if addresses.len() > 1 {
            return Ok(true);
        }
        let labels = match own_labels(&self.client, &self.identity).await {
            Ok(labels) => labels,
            // Outside of a cluster there is no pod of ours, and so none like it.
            Err(error) => {
                debug!("{error:#}");
                return Ok(false);
            }
        };
        let pods: Api<k8s_openapi::api::core::v1::Pod> =
            Api::namespaced(self.client.clone(), &self.identity.namespace);
        Ok(pods
            .list_metadata(&ListParams::default().labels(&labels))
            .await?
            .items
            .len()
            > 1)
    }
}
