//! Renders configurations for nginx, and hands changed ones to its supervisor.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use sluice_ir::{Config, Sensitive, Shared, SharedMap, changed};
use sluice_nginx::{
    Files, Rendered, RenderedTable, Renderer, Settings, TableIdentity, Unsupported,
};
use tokio::sync::watch;
use tokio::task::block_in_place;
use tracing::error;

use super::FormerFiles;
use super::certificates::Certificates;
use super::configuration_test::{Rejection, test};
use super::endpoint_files::EndpointFiles;
use super::reload_event::ReloadReason;
use super::table_files::TableFiles;
use crate::content_hash::content_hash;

/// A configuration for nginx, with the names of the certificate files that it names.
#[derive(Debug)]
pub(super) struct Configuration {
    pub(super) text: Arc<str>,
    /// Hash of the text.
    pub(super) content: u128,
    /// Hash of the names of the hosts in it.
    hosts: Arc<str>,
    /// Files that nginx reads when it loads the configuration. Their names have their contents in them.
    pinned: Shared<String, Sensitive>,
    /// Links that it names. With a table, it has a variable in their place.
    links: SharedMap<String, String>,
    /// Its host table, if it names one.
    pub(super) table: Option<TableIdentity>,
}

/// The publisher's side of an nginx.
#[derive(Debug)]
pub struct Configurations {
    settings: Settings,
    renderer: Mutex<Renderer>,
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
    has_endpoints: bool,
}

/// A configuration that was handed to the supervisor.
#[derive(Debug)]
pub struct Published {
    /// Hash of nginx.conf, by which a [`ReloadEvent`](super::ReloadEvent) names it; `None`: its files could not be written, and
    /// nginx does not get it.
    pub content: Option<u128>,
    /// All files are written, those of TCP and UDP ports among them, which nginx reads by itself.
    pub is_complete: bool,
    /// Parts of the model that nginx does not serve.
    pub unsupported: Vec<Unsupported>,
}

impl Configuration {
    /// True if an nginx that has loaded another one serves this one, too. Keys that nobody needs any more are not kept for that.
    fn is_served_with(&self, loaded: &Configuration) -> bool {
        let tables = self.table.as_ref().zip(loaded.table.as_ref());
        self.has_files_of(loaded) && tables.is_some_and(|(own, other)| own.is_served_with(other))
    }

    fn has_files_of(&self, other: &Configuration) -> bool {
        let mut changed = changed(&other.pinned, &self.pinned);
        changed.all(|file| file.before.is_some() && file.now.is_some())
    }

    /// True if it names a file of certificates.
    pub(super) fn names(&self, file: &str) -> bool {
        self.pinned.contains_key(file) || self.links.contains_key(file)
    }

    /// The reason why nginx has to be reloaded for this configuration, where it has loaded the other one.
    pub(super) fn reload_reason(&self, loaded: Option<&Configuration>) -> ReloadReason {
        let Some(loaded) = loaded else {
            return ReloadReason::Adoption;
        };
        let tables = self.table.as_ref().zip(loaded.table.as_ref());
        let has_profiles =
            tables.is_none_or(|(own, other)| own.profiles.is_subset(&other.profiles));
        if self.hosts != loaded.hosts {
            ReloadReason::Hosts
        } else if !has_profiles {
            ReloadReason::Profiles
        } else if !self.has_files_of(loaded) {
            ReloadReason::Files
        } else {
            ReloadReason::Settings
        }
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
            renderer: Mutex::new(Renderer::new(settings.clone())),
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
        let mut renderer = self.renderer.lock().unwrap_or_else(PoisonError::into_inner);
        let Rendered {
            text,
            hosts,
            files,
            table,
            unsupported,
        } = renderer.render(config);
        drop(renderer);
        let latest = self.latest.borrow().clone();
        let known = latest.as_ref().filter(|latest| latest.text == text);
        let content = known.map_or_else(|| content_hash(&text), |latest| latest.content);
        let links = table.is_none().then(|| files.cert_links.clone());
        let mut configuration = Arc::new(Configuration {
            text,
            content,
            hosts,
            pinned: files.pinned.clone(),
            links: links.unwrap_or_default(),
            table: table.as_ref().map(|table| table.identity.clone()),
        });
        if let Some(latest) =
            latest.filter(|latest| is_loaded && configuration.is_served_with(latest))
        {
            configuration = latest;
        }
        let has_endpoints = self.publish_endpoints(config);
        let table = table.as_ref().zip(configuration.table.as_ref());
        // In the file that the workers of that configuration look at.
        let table = table.map(|(table, identity)| (identity.name.as_str(), table));
        let written = self.write(files, table);
        if let Err(error) = &written {
            error!("cannot write files for nginx; previous configuration kept: {error:#}");
        }
        Staged {
            configuration,
            unsupported,
            is_written: written.is_ok(),
            has_endpoints,
            table: written.unwrap_or_default(),
        }
    }

    fn write(
        &self,
        files: Files,
        table: Option<(&str, &RenderedTable)>,
    ) -> anyhow::Result<Option<u128>> {
        self.certificates.publish(files).context("certificates")?;
        table
            .map(|(name, table)| self.tables.write(name, table))
            .transpose()
    }

    /// Hands a configuration to the supervisor.
    pub fn publish(&self, staged: Staged) -> Published {
        let Staged {
            configuration,
            unsupported,
            table: _,
            is_written,
            has_endpoints,
        } = staged;
        let published = Published {
            content: is_written.then_some(configuration.content),
            is_complete: is_written && has_endpoints,
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

    /// Publishes the endpoints of TCP and UDP ports, which need no reload. `false`: they could not be written.
    pub fn publish_endpoints(&self, config: &Config) -> bool {
        let written = self.endpoints.publish(sluice_nginx::pods(config));
        if let Err(error) = &written {
            error!("cannot write endpoints of TCP and UDP ports; previous ones kept: {error:#}");
        }
        written.is_ok()
    }
}
