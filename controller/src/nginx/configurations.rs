//! The way of a configuration from the publisher to nginx: only what differs goes on, and only what nginx accepts is kept.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use sluice_ir::{Layer4, StreamPort};
use sluice_nginx::{Part, Settings, Unserved};
use sluice_translate::{Kind, ObjectKey, ObjectRef, Report, Severity, Translation};
use tokio::process::Command;
use tokio::sync::watch;
use tracing::error;

use super::certificates::Certificates;
use super::pods::PodFiles;

/// A configuration for nginx, with the names of the files that it names.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) text: String,
    pub(crate) files: BTreeSet<String>,
}

/// What the publisher writes into.
#[derive(Debug)]
pub(crate) struct Configurations {
    settings: Settings,
    certificates: Certificates,
    pods: PodFiles,
    latest: watch::Sender<Option<Arc<Configuration>>>,
    owners: Owners,
    told: Mutex<BTreeSet<Unserved>>,
}

/// The operator's ConfigMaps.
#[derive(Debug)]
pub(crate) struct Owners {
    /// What holds for all hosts.
    pub(crate) edge: Option<ObjectKey>,
    pub(crate) tcp: Option<ObjectKey>,
    pub(crate) udp: Option<ObjectKey>,
}

impl Configurations {
    pub(crate) fn new(
        settings: Settings,
        certificates: Certificates,
        owners: Owners,
    ) -> anyhow::Result<Self> {
        let (latest, pods) = (watch::Sender::new(None), PodFiles::new(settings.pods())?);
        Ok(Configurations { settings, certificates, pods, latest, owners, told: Mutex::default() })
    }

    /// Where each new one shows; `None` until there is one.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Arc<Configuration>>> {
        self.latest.subscribe()
    }

    /// Renders; endpoints and the content of certificates are not in it, so most changes make no difference. What nginx
    /// does not serve comes back as its owners' reports.
    pub(crate) fn publish(&self, translation: &Translation) -> Vec<Report> {
        let rendered = sluice_nginx::render(translation.config(), &self.settings);
        let reports = self.reports(rendered.unserved, translation);
        let files = rendered.files.pinned.keys().chain(rendered.files.places.keys()).cloned().collect();
        self.publish_pods(translation);
        if let Err(error) = self.certificates.publish(rendered.files) {
            error!("nginx gets no new configuration, because its certificates cannot be written: {error:#}");
            return reports;
        }
        self.latest.send_if_modified(|latest| {
            let is_new = latest.as_ref().is_none_or(|latest| latest.text != rendered.text);
            if is_new {
                *latest = Some(Arc::new(Configuration { text: rendered.text, files }));
            }
            is_new
        });
        reports
    }

    /// Pods of ports without HTTP: nginx looks for them by itself.
    pub(crate) fn publish_pods(&self, translation: &Translation) {
        if let Err(error) = self.pods.publish(sluice_nginx::pods(translation.config())) {
            error!("the pods of ports without http stay as they are: {error:#}");
        }
    }

    /// Whose it is.
    fn owner(&self, part: &Part, translation: &Translation) -> Option<ObjectRef> {
        let (kind, key) = match part {
            Part::Location(location) => (Kind::Ingress, translation.owner(location)),
            Part::Edge(_) => (Kind::ConfigMap, self.owners.edge.as_ref()),
            Part::Port(StreamPort { layer: Layer4::Tcp, .. }) => (Kind::ConfigMap, self.owners.tcp.as_ref()),
            Part::Port(StreamPort { layer: Layer4::Udp, .. }) => (Kind::ConfigMap, self.owners.udp.as_ref()),
        };
        Some(ObjectRef { kind, key: key?.clone() })
    }

    /// What no Ingress has asked for is told here, once, when it comes up.
    fn reports(&self, unserved: Vec<Unserved>, translation: &Translation) -> Vec<Report> {
        let mut reports = Vec::new();
        let mut current = BTreeSet::new();
        for unserved in unserved {
            match self.owner(&unserved.part, translation) {
                Some(owner) => reports.push(report(owner, &unserved)),
                None => drop(current.insert(unserved)),
            }
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for unserved in current.difference(&told) {
            error!("{unserved}");
        }
        *told = current;
        reports
    }
}

fn report(object: ObjectRef, unserved: &Unserved) -> Report {
    let severity = if unserved.closes { Severity::Error } else { Severity::Warning };
    Report::new(object, severity, unserved.part.to_string(), unserved.reason(), unserved.consequence())
}

/// The file that nginx is started with.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("nginx.conf")
}

/// Makes a configuration nginx's, unless nginx refuses it: then the last good one stays.
pub(crate) async fn adopt(binary: &Path, folder: &Path, text: &str) -> anyhow::Result<()> {
    let candidate = folder.join("candidate.conf");
    std::fs::write(&candidate, text).with_context(|| candidate.display().to_string())?;
    let mut command = Command::new(binary);
    command.args(["-t", "-q", "-e", "stderr", "-p"]).arg(folder).arg("-c").arg(&candidate);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.with_context(|| format!("cannot start {}", binary.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("nginx refuses the configuration, the last good one stays: {}", said.trim_end());
    }
    // On one file system, so nginx sees either of the two and never a part.
    std::fs::rename(&candidate, file(folder)).context("nginx.conf")
}
