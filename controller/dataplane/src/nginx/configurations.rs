//! Renders configurations for nginx, and hands changed ones to its supervisor.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use sluice_ir::Config;
use sluice_nginx::{Files, Settings, TableIdentity, Unsupported};
use tokio::sync::watch;
use tokio::task::block_in_place;
use tracing::error;

use super::FormerFiles;
use super::certificates::Certificates;
use super::configuration_test::{Rejection, test};
use super::endpoint_files::EndpointFiles;
use super::table_files::TableFiles;
use crate::content_hash::content_hash;

/// A configuration for nginx, with the names of the certificate files that it names.
#[derive(Debug)]
pub(super) struct Configuration {
    pub(super) text: String,
    /// Hash of the text.
    pub(super) content: u128,
    pub(super) files: BTreeSet<String>,
    /// Those among them that nginx reads when it loads the configuration.
    pinned: BTreeSet<String>,
    /// Its host table, if it names one.
    pub(super) table: Option<TableIdentity>,
}

/// The publisher's side of an nginx.
#[derive(Debug)]
pub struct Configurations {
    settings: Settings,
    certificates: Certificates,
    endpoints: EndpointFiles,
    tables: Arc<TableFiles>,
    latest: watch::Sender<Option<Arc<Configuration>>>,
    program: PathBuf,
}

/// A configuration whose files are written. Workers have not been told of its host table.
#[derive(Debug)]
pub struct Staged {
    configuration: Arc<Configuration>,
    unsupported: Vec<Unsupported>,
    table: Option<u128>,
    is_written: bool,
}

/// A configuration that was handed to the supervisor.
#[derive(Debug)]
pub struct Published {
    /// Hash of nginx.conf, by which a [`ReloadEvent`](super::ReloadEvent) names it; `None`: its files could not be written, and
    /// nginx does not get it.
    pub content: Option<u128>,
    /// Parts of the model that nginx does not serve.
    pub unsupported: Vec<Unsupported>,
}

impl Configuration {
    /// True if an nginx that has loaded another one serves this one, too. Keys that nobody needs any more are not kept for that.
    fn is_served_with(&self, loaded: &Configuration) -> bool {
        let tables = self.table.as_ref().zip(loaded.table.as_ref());
        self.pinned == loaded.pinned && tables.is_some_and(|(own, other)| own.is_served_with(other))
    }
}

impl Staged {
    /// Hash of the host table, if there is one.
    #[must_use]
    pub fn table(&self) -> Option<u128> {
        self.table
    }
}

impl Configurations {
    pub(super) fn new(
        settings: Settings,
        certificates: Certificates,
        former: FormerFiles,
        program: PathBuf,
    ) -> anyhow::Result<Self> {
        Ok(Configurations {
            endpoints: EndpointFiles::new(settings.pods(), former)?,
            tables: Arc::new(TableFiles::new(settings.hosts(), former)?),
            settings,
            certificates,
            latest: watch::Sender::new(None),
            program,
        })
    }

    /// The latest configuration; `None` until there is one.
    pub(super) fn subscribe(&self) -> watch::Receiver<Option<Arc<Configuration>>> {
        self.latest.subscribe()
    }

    /// The host tables, for the supervisor, who knows which ones are in use.
    pub(super) fn tables(&self) -> Arc<TableFiles> {
        Arc::clone(&self.tables)
    }

    /// Renders a configuration and writes its files. Most changes need no reload, because endpoints, the contents of certificates
    /// and most hosts are in files of their own. `is_loaded`: nginx has the latest configuration.
    pub fn stage(&self, config: &Config, is_loaded: bool) -> Staged {
        let rendered = sluice_nginx::render(config, &self.settings);
        let pinned: BTreeSet<String> = rendered.files.pinned.keys().cloned().collect();
        // With a table, nginx.conf has a variable in their place.
        let links = rendered.files.cert_links.keys().cloned();
        let links = links.filter(|_| rendered.table.is_none());
        let mut configuration = Arc::new(Configuration {
            files: pinned.iter().cloned().chain(links).collect(),
            content: content_hash(&rendered.text),
            text: rendered.text,
            pinned,
            table: rendered.table.as_ref().map(|table| table.identity.clone()),
        });
        let latest = self.latest.borrow().clone();
        if let Some(latest) =
            latest.filter(|latest| is_loaded && configuration.is_served_with(latest))
        {
            configuration = latest;
        }
        self.publish_endpoints(config);
        let table = rendered.table.as_ref().zip(configuration.table.as_ref());
        // In the file that the workers of that configuration look at.
        let table = table.map(|(table, identity)| (identity.name.as_str(), table.text.as_str()));
        let written = self.write(rendered.files, table);
        if let Err(error) = &written {
            error!("cannot write files for nginx; previous configuration kept: {error:#}");
        }
        Staged {
            configuration,
            unsupported: rendered.unsupported,
            is_written: written.is_ok(),
            table: written.unwrap_or_default(),
        }
    }

    fn write(&self, files: Files, table: Option<(&str, &str)>) -> anyhow::Result<Option<u128>> {
        self.certificates.publish(files).context("certificates")?;
        table
            .map(|(name, text)| self.tables.write(name, text))
            .transpose()
    }

    /// Hands a configuration to the supervisor.
    pub fn publish(&self, staged: Staged) -> Published {
        let Staged {
            configuration,
            unsupported,
            table: _,
            is_written,
        } = staged;
        let published = Published {
            content: is_written.then(|| configuration.content),
            unsupported,
        };
        if !is_written {
            return published;
        }
        let has_table = configuration.table.is_some();
        let is_new = self.latest.send_if_modified(|latest| {
            let is_new = latest
                .as_ref()
                .is_none_or(|latest| latest.text != configuration.text);
            if is_new {
                *latest = Some(configuration);
            }
            is_new
        });
        if has_table && !is_new {
            self.certificates.remove_gone_links();
        }
        published
    }

    /// Tests a configuration without serving it; the error is nginx's message. `None`: it could not be tested.
    pub async fn probe(&self, candidate: &Config) -> Option<Result<(), String>> {
        let rendered = block_in_place(|| sluice_nginx::render(candidate, &self.settings));
        if let Err(error) = self.certificates.add_pinned(&rendered.files) {
            error!("cannot write files for nginx: {error:#}");
            return None;
        }
        let directory = &self.settings.folder;
        match test(
            &self.program,
            directory,
            &directory.join("probe.conf"),
            &rendered.text,
        )
        .await
        {
            Ok(()) => Some(Ok(())),
            Err(Rejection::Invalid(message)) => Some(Err(message)),
            Err(Rejection::Untested(error)) => {
                error!("{error:#}");
                None
            }
        }
    }

    /// Publishes the endpoints of TCP and UDP ports, which need no reload.
    pub fn publish_endpoints(&self, config: &Config) {
        if let Err(error) = self.endpoints.publish(sluice_nginx::pods(config)) {
            error!("cannot write endpoints of TCP and UDP ports; previous ones kept: {error:#}");
        }
    }
}
