//! nginx.conf for an nginx with our module, or with Kong's (`kong.rs`).
//!
//! ```text
//!   ir::Config --> http {}: maps, headers, the filter, one upstream for all pods
//!                    \--> server {} for each host --> location {} for each path: its id for the filter, and how long to wait
//! ```
//!
//! Absent: what the filter decides. Endpoints, balancing, stickiness and canaries reach it from the controller, so a
//! change of those never reloads nginx. The one upstream connects to whatever the filter has chosen.
//!
//! TCP and UDP ports are in `stream {}`, and their pods in files that nginx reads when a client comes: [`pods`].
//!
//! Private keys are not in it either: `files/` says which files hold them.
//!
//! Pure, and the same bytes for the same input.

mod access_log;
mod checks;
mod conf;
mod context;
mod expression;
mod files;
mod host_table;
mod http;
mod kong;
mod location;
mod renderer;
mod server;
mod servers;
mod settings;
mod stream;
mod tls;
mod traces;
mod tracked_config;
mod transports;
mod unsupported;
mod upstream;
mod waf;
mod word_limits;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sluice_ir::Config;

pub use files::Files;
pub use host_table::{RenderedTable, ShardFile, TableIdentity};
pub use location::auth_request;
pub use renderer::Renderer;
pub use settings::{AccessLog, Engine, ModSecurity, OpenSsl, Settings, Streams};
pub use stream::pods;
pub use traces::span_log;
pub use unsupported::{Element, Unsupported};
pub use waf::RECOMMENDED as RECOMMENDED_RULES;

/// Bytes of the path of a socket: one less than Linux has.
pub(crate) const LONGEST_SOCKET: usize = 107;

/// A configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// nginx.conf.
    pub text: Arc<str>,
    /// Hash of the names of the hosts that nginx.conf has.
    pub hosts: Arc<str>,
    /// Files that nginx.conf refers to.
    pub files: Files,
    /// Hosts and paths that nginx.conf does not name; `None`: it names all of them.
    pub table: Option<RenderedTable>,
    /// Unsupported settings, and locations that nginx cannot read, because a text in them is too long for it.
    pub unsupported: Vec<Unsupported>,
}

/// The socket on which nginx itself answers when the filter has chosen no endpoint.
#[must_use]
pub fn no_endpoint_socket(folder: &Path) -> PathBuf {
    folder.join("no-endpoint.sock")
}

/// The socket on which an nginx with these features (`nginx -V`) counts connections; `None` if it does not, or if an address cannot
/// be so long.
#[must_use]
pub fn status_socket(features: &str, folder: &Path) -> Option<PathBuf> {
    let mut words = features.split_whitespace();
    let counts = words.any(|word| word == "--with-http_stub_status_module");
    let socket = folder.join("status.sock");
    (counts && socket.as_os_str().len() <= LONGEST_SOCKET).then_some(socket)
}

/// Everything as nginx.conf.
#[must_use]
pub fn render(config: &Config, settings: &Settings) -> Rendered {
    Renderer::new(settings.clone()).render(config)
}
