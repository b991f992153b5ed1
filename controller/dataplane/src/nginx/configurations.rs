//! Renders configurations for nginx, and hands changed ones to its supervisor.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use sluice_ir::Config;
use sluice_nginx::{Settings, Unsupported};
use tokio::sync::watch;
use tokio::task::block_in_place;
use tracing::error;

use super::FormerFiles;
use super::certificates::Certificates;
use super::configuration_test::{Rejection, test};
use super::endpoint_files::EndpointFiles;
use crate::content_hash::content_hash;

/// A configuration for nginx, with the names of the certificate files that it names.
#[derive(Debug)]
pub(super) struct Configuration {
    pub(super) text: String,
    pub(super) files: BTreeSet<String>,
}

/// The publisher's side of an nginx.
#[derive(Debug)]
pub struct Configurations {
    settings: Settings,
    certificates: Certificates,
    endpoints: EndpointFiles,
    latest: watch::Sender<Option<Arc<Configuration>>>,
    program: PathBuf,
}

/// A configuration that was handed to the supervisor.
#[derive(Debug)]
pub struct Published {
    /// Hash of nginx.conf, by which a [`ReloadEvent`](super::ReloadEvent) names it.
    pub content: u128,
    /// Parts of the model that nginx does not serve.
    pub unsupported: Vec<Unsupported>,
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

    /// Renders a configuration. Most changes need no reload, because endpoints and the contents of certificates are in files
    /// of their own.
    pub fn publish(&self, config: &Config) -> Published {
        let rendered = sluice_nginx::render(config, &self.settings);
        let published = Published {
            content: content_hash(&rendered.text),
            unsupported: rendered.unsupported,
        };
        let files = rendered
            .files
            .pinned
            .keys()
            .chain(rendered.files.cert_links.keys())
            .cloned()
            .collect();
        self.publish_endpoints(config);
        if let Err(error) = self.certificates.publish(rendered.files) {
            error!("cannot write certificates for nginx; previous configuration kept: {error:#}");
            return published;
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
