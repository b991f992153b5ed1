//! What the controller says beside the IR.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Where things are on the machine that nginx runs on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `libngx_sluice.so`.
    pub module: PathBuf,
    /// The filter, as `sluice-compile` wrote it.
    pub filter: PathBuf,
    /// The filter's configuration; it says where the controller is.
    pub checkpoint: String,
    /// Where clients connect with http.
    pub http: SocketAddr,
    /// Where they connect with https.
    pub https: SocketAddr,
    /// nginx's own files: its process id, sockets, certificates, bodies that do not fit into memory.
    pub folder: PathBuf,
    /// Who is asked for the addresses of hosts outside of the cluster.
    pub resolvers: Vec<IpAddr>,
    /// Whom the workers run as; `None` is whom nginx itself runs as, who is not root.
    pub user: Option<String>,
    /// Worker processes; `None` is one for each core.
    pub workers: Option<u32>,
    /// Seconds that workers of a former configuration have for open requests.
    pub drain: u64,
}

impl Settings {
    /// The folder of certificates and keys. `default.pem` in it is what hosts without one of their own present.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        self.folder.join("certificates")
    }
}
