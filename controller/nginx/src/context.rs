//! Inputs of rendering: those of all hosts, and one host.

use sluice_ir::{
    BackendId, ClientCertificates, Forwarded, GlobalConfig, Hostname, Server, ServerName,
    SharedMap, VerifyClient,
};

use crate::settings::Settings;
use crate::tracked_config::{SharedInputs, TrackedConfig};
use crate::waf::Place;

/// Inputs that all hosts have in common.
#[derive(Clone, Copy)]
pub(crate) struct RenderContext<'a> {
    pub(crate) config: &'a TrackedConfig<'a>,
    pub(crate) settings: &'a Settings,
    /// Requests are written down.
    pub(crate) logs: bool,
    /// Rules of firewalls around the locations of the server.
    pub(crate) place: Place,
    /// The module has found the route in the host table; nginx.conf does not name it.
    pub(crate) by_table: bool,
}

impl<'a> RenderContext<'a> {
    pub(crate) fn shared(self) -> &'a SharedInputs {
        self.config.shared()
    }

    pub(crate) fn global(self) -> &'a GlobalConfig {
        &self.shared().global
    }

    /// Hosts whose TLS ends at their pods, and what is known of clients before them.
    pub(crate) fn passed(self) -> (&'a SharedMap<Hostname, BackendId>, &'a Forwarded) {
        (&self.shared().passthrough, &self.global().forwarded)
    }

    /// Hosts may be in a table. Handshakes for unknown names can be rejected by nginx.conf alone, which then has to name the known ones.
    pub(crate) fn may_use_host_table(self) -> bool {
        let rejects = self.global().tls.reject_unknown_names;
        self.settings.host_table && !self.settings.engine.is_kongs() && !rejects
    }

    /// The routes of requests are known to their logs: those for metrics, and those of spans.
    pub(crate) fn counts_routes(self) -> bool {
        self.settings.requests.is_some() || self.global().tracing.is_some()
    }
}

/// One host of the IR.
#[derive(Clone, Copy)]
pub(crate) struct Host<'a> {
    pub(crate) name: &'a ServerName,
    pub(crate) server: &'a Server,
}

impl<'a> Host<'a> {
    /// Client certificates that nginx requests for this host. A client without a name in the handshake is checked as the catch-all
    /// host says, so that one never asks: its locations are closed instead.
    pub(crate) fn clients(self) -> Option<&'a ClientCertificates> {
        let clients = self
            .server
            .client_certificates
            .as_ref()
            .filter(|_| *self.name != ServerName::CatchAll)?;
        (clients.verify != VerifyClient::Off).then_some(clients)
    }
}
