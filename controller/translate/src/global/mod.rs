//! The ConfigMap of the controller: defaults of annotations, and settings of the data plane as a whole.
//!
//! One file for each group of keys, with their rows of the catalogue and the code that reads them.

mod access;
mod access_log;
mod blocked;
mod buffering;
mod compression;
mod errors;
mod ext_auth;
mod headers;
mod http;
mod keys;
mod limits;
mod redirects;
mod response_rewrite;
mod snippets;
mod streams;
mod tracing;
mod trust;
mod upstream;
mod values;
mod view;
mod waf;

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::GlobalConfig;
use sluice_translate_engine::{DependencyTracker, ObjectCache, ObjectRef, References, Report};

use crate::Options;
use crate::snippet::{Catalogues, Effective, LocationSnippet, ServerSnippet, variables_in};
use crate::support::DataPlane;
use view::View;

pub(crate) use access::Access;
pub use access_log::{LogVariable, log_variables};
pub(crate) use errors::Errors;
pub(crate) use http::{CIPHERS, cipher_names};
pub use keys::{KEYS, Key};
pub(crate) use limits::Limits;
pub(crate) use redirects::{HttpsRedirects, Redirects};
pub(crate) use response_rewrite::ResponseRewrite;
pub(crate) use streams::Streams;
pub(crate) use trust::{AdmissionSettings, Trust};
pub(crate) use upstream::Upstream;

/// The ConfigMap, typed, over ingress-nginx's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Globals {
    pub(crate) trust: Trust,
    pub(crate) upstream: Upstream,
    pub(crate) redirects: Redirects,
    pub(crate) response_rewrite: ResponseRewrite,
    pub(crate) access: Access,
    pub(crate) limits: Limits,
    pub(crate) errors: Errors,
    pub(crate) streams: Streams,
    /// Settings of the data plane as a whole.
    pub(crate) config: GlobalConfig,
    /// Data plane that serves; none: any.
    pub(crate) data_plane: Option<DataPlane>,
    /// The ConfigMap that was read.
    pub(crate) config_map: Option<ObjectRef>,
    /// Variables in its `http-snippet`, which may define them.
    pub(crate) http_variables: BTreeSet<String>,
    /// `server-snippet`: of all servers.
    pub(crate) server_snippet: Option<Arc<ServerSnippet>>,
    /// `location-snippet`: of all locations of Ingresses, and of the default backend.
    pub(crate) location_snippet: Option<Arc<LocationSnippet>>,
    /// Something that guards access cannot be read, so nothing is open.
    pub(crate) closed: bool,
}

impl Globals {
    /// Reads the ConfigMap that `--configmap` names. Without one, or where it is silent, the defaults hold.
    pub(crate) fn read(
        cluster: &ObjectCache,
        options: &Options,
        catalogues: Catalogues,
        reports: &mut Vec<Report>,
    ) -> Self {
        let mut globals = Globals {
            data_plane: options.data_plane,
            ..Globals::default()
        };
        globals.config.cdn_id.clone_from(&options.cdn_id);
        globals.config.kept_body = options.kept_body;
        globals.config.native_balancing = options.native_balancing;
        globals.streams.connections = options.stream_connections;
        if let Some(mut view) = View::read(cluster, options, reports) {
            globals.config_map = Some(view.object().clone());
            let tracker = DependencyTracker::new(cluster, &options.addresses);
            globals.take(
                &mut view,
                References {
                    tracker: &tracker,
                    across_namespaces: true,
                },
                catalogues,
            );
        }
        globals
    }

    /// Name of the `server-snippet` in reports.
    pub(crate) fn server_snippet_name(&self) -> String {
        let config_map = self.config_map.as_ref();
        let config_map = config_map.map_or("the ConfigMap".to_owned(), ToString::to_string);
        format!("server-snippet of {config_map}")
    }

    fn take(
        &mut self,
        view: &mut View<'_, '_>,
        references: References<'_>,
        catalogues: Catalogues,
    ) {
        self.trust.take(view);
        self.upstream.take(view);
        self.redirects.take(view);
        self.response_rewrite.take(view);
        self.closed |= !self.access.take(view, references.tracker.addresses);
        self.limits.take(view);
        self.errors.take(view);
        self.streams.take(view);
        buffering::take(&mut self.config.buffering, view);
        self.closed |= !http::take(&mut self.config, view, references);
        let Upstream {
            timeouts, retries, ..
        } = &self.upstream;
        http::report_body_timeout(view, retries.longest(*timeouts));
        compression::take(&mut self.config.compression, view);
        access_log::take(&mut self.config.log, view);
        self.config.tracing = tracing::tracing(view);
        self.closed |= !blocked::take(&mut self.config.blocked, view);
        self.closed |= !waf::take(&mut self.config, view);
        let effective = Effective {
            largest_body: self.limits.largest_body,
        };
        self.http_variables = view
            .text("http-snippet")
            .map(variables_in)
            .unwrap_or_default();
        let (snippet, is_open) = snippets::of_servers(view, &self.config, effective, catalogues);
        self.server_snippet = snippet;
        self.closed |= !is_open;
        let (snippet, is_open) = snippets::of_locations(view, &self.config, effective, catalogues);
        self.location_snippet = snippet;
        self.closed |= !is_open;
        self.config.compares_sent_headers = self.trust.admits_snippets()
            || self.server_snippet.is_some()
            || self.location_snippet.is_some();
        self.closed |= !view.judge_snippets(effective, catalogues.alternatives);
    }
}

#[cfg(test)]
mod tests;
