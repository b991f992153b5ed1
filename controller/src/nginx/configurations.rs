//! The way of a configuration from the publisher to nginx: only what differs goes on, and only what nginx accepts is kept.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use sluice_ir::{Config, L4Protocol, StreamPort};
use sluice_nginx::{Part, Settings, Unsupported};
use sluice_translate::{Kind, ObjectKey, ObjectRef, Report, Severity, Snapshot};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::block_in_place;
use tracing::error;

use super::Left;
use super::certificates::Certificates;
use super::pods::PodFiles;
use crate::content::content;
#[cfg(debug_assertions)]
use crate::fault;
use crate::private;

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
    told: Mutex<BTreeSet<Unsupported>>,
    /// The program that is asked.
    binary: PathBuf,
}

/// Why nginx does not get a configuration.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It was asked, and says so.
    Said(String),
    /// It could not be asked.
    Failed(anyhow::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Said(said) => f.write_str(said),
            Refusal::Failed(error) => write!(f, "{error:#}"),
        }
    }
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        Refusal::Failed(error)
    }
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
        left: Left,
        binary: PathBuf,
    ) -> anyhow::Result<Self> {
        let (latest, pods) = (
            watch::Sender::new(None),
            PodFiles::new(settings.pods(), left)?,
        );
        Ok(Configurations {
            settings,
            certificates,
            pods,
            latest,
            owners,
            told: Mutex::default(),
            binary,
        })
    }

    /// Where each new one shows; `None` until there is one.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Arc<Configuration>>> {
        self.latest.subscribe()
    }

    /// Renders; endpoints and the content of certificates are not in it, so most changes make no difference. What nginx
    /// does not serve comes back as its owners' reports, after the hash of the text.
    pub(crate) fn publish(&self, config: &Config, snapshot: &Snapshot) -> (u128, Vec<Report>) {
        let rendered = sluice_nginx::render(config, &self.settings);
        let content = content(&rendered.text);
        let reports = self.reports(rendered.unsupported, snapshot);
        let files = rendered
            .files
            .pinned
            .keys()
            .chain(rendered.files.cert_links.keys())
            .cloned()
            .collect();
        self.publish_pods(config);
        if let Err(error) = self.certificates.publish(rendered.files) {
            error!(
                "nginx gets no new configuration, because its certificates cannot be written: {error:#}"
            );
            return (content, reports);
        }
        self.latest.send_if_modified(|latest| {
            let is_new = latest
                .as_ref()
                .is_none_or(|latest| latest.text != rendered.text);
            if is_new {
                *latest = Some(Arc::new(Configuration {
                    text: rendered.text,
                    files,
                }));
            }
            is_new
        });
        (content, reports)
    }

    /// What nginx thinks of a configuration that serves nobody; `None`: it cannot be asked.
    pub(crate) async fn probe(&self, candidate: &Config) -> Option<Result<(), String>> {
        let text = block_in_place(|| sluice_nginx::render(candidate, &self.settings).text);
        let folder = &self.settings.folder;
        match test(&self.binary, folder, &folder.join("probe.conf"), &text).await {
            Ok(()) => Some(Ok(())),
            Err(Refusal::Said(said)) => Some(Err(said)),
            Err(Refusal::Failed(error)) => {
                error!("{error:#}");
                None
            }
        }
    }

    /// Pods of ports without HTTP: nginx looks for them by itself.
    pub(crate) fn publish_pods(&self, config: &Config) {
        if let Err(error) = self.pods.publish(sluice_nginx::pods(config)) {
            error!("the pods of ports without http stay as they are: {error:#}");
        }
    }

    /// Whose it is.
    fn owner(&self, part: &Part, snapshot: &Snapshot) -> Option<ObjectRef> {
        let (kind, key) = match part {
            Part::Route(location) => (Kind::Ingress, snapshot.owner(location)),
            // No object that is translated today has listeners.
            Part::Listener(_) => return None,
            Part::Setting(_) => (Kind::ConfigMap, self.owners.edge.as_ref()),
            Part::Port(StreamPort {
                protocol: L4Protocol::Tcp,
                ..
            }) => (Kind::ConfigMap, self.owners.tcp.as_ref()),
            Part::Port(StreamPort {
                protocol: L4Protocol::Udp,
                ..
            }) => (Kind::ConfigMap, self.owners.udp.as_ref()),
        };
        Some(ObjectRef {
            kind,
            key: key?.clone(),
        })
    }

    /// What no Ingress has asked for is told here, once, when it comes up.
    fn reports(&self, unsupported: Vec<Unsupported>, snapshot: &Snapshot) -> Vec<Report> {
        let mut reports = Vec::new();
        let mut current = BTreeSet::new();
        for unsupported in unsupported {
            match self.owner(&unsupported.part, snapshot) {
                Some(owner) => reports.push(report(owner, &unsupported)),
                None => drop(current.insert(unsupported)),
            }
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for unsupported in current.difference(&told) {
            error!("{unsupported}");
        }
        *told = current;
        reports
    }
}

fn report(object: ObjectRef, unsupported: &Unsupported) -> Report {
    let severity = if unsupported.closes {
        Severity::Error
    } else {
        Severity::Warning
    };
    Report::new(
        object,
        severity,
        unsupported.part.to_string(),
        unsupported.reason(),
        unsupported.consequence(),
    )
}

/// The file that nginx is started with.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("nginx.conf")
}

/// Makes a configuration nginx's, unless nginx refuses it: then the last good one stays.
pub(crate) async fn adopt(binary: &Path, folder: &Path, text: &str) -> Result<(), Refusal> {
    let candidate = folder.join("candidate.conf");
    test(binary, folder, &candidate, text).await?;
    // On one file system, so nginx sees either of the two and never a part.
    std::fs::rename(&candidate, file(folder)).context("nginx.conf")?;
    Ok(())
}

/// Has nginx read a configuration.
async fn test(binary: &Path, folder: &Path, candidate: &Path, text: &str) -> Result<(), Refusal> {
    #[cfg(debug_assertions)]
    let text = fault::spoiled(text).into_owned();
    private::write(candidate, text.as_bytes()).with_context(|| candidate.display().to_string())?;
    let mut command = Command::new(binary);
    command
        .args(["-t", "-q", "-e", "stderr", "-p"])
        .arg(folder)
        .arg("-c")
        .arg(candidate);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = command
        .output()
        .await
        .with_context(|| format!("cannot start {}", binary.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Refusal::Said(words(
        &String::from_utf8_lossy(&output.stderr),
        candidate,
    )))
}

/// What nginx says, without what is another each time: `TIME [emerg] PID#TID: WORDS in FILE:LINE`.
fn words(said: &str, file: &Path) -> String {
    let file = format!(" in {}", file.display());
    let words = |line: &str| {
        let (_, words) = line.split_once(" [emerg] ")?.1.split_once(": ")?;
        Some(words.split(&file).next()?.to_owned())
    };
    let lines: Vec<String> = said.lines().filter_map(words).collect();
    if lines.is_empty() {
        said.trim_end().to_owned()
    } else {
        lines.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nginx_says_is_the_same_whenever_it_says_it() {
        let file = Path::new("/run/probe.conf");
        let said =
            "2026/11/22 21:33:08 [emerg] 150#150: unknown directive \"x\" in /run/probe.conf:189\n";
        assert_eq!(words(said, file), "unknown directive \"x\"");
        assert_eq!(words("nginx: no memory\n", file), "nginx: no memory");
    }
}
