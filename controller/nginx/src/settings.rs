//! What the controller says beside the IR.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Where things are on the machine that nginx runs on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What runs the filter.
    pub engine: Engine,
    /// The filter's configuration; it says where the controller is.
    pub checkpoint: String,
    /// The controller's socket, where nginx asks who may come in.
    pub controller: PathBuf,
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
    /// Where requests are written down for the controller, if they are counted.
    pub requests: Option<PathBuf>,
    /// The OpenSSL that nginx runs with, where that is known.
    pub openssl: Option<OpenSsl>,
    /// Seconds that workers of a former configuration have for open requests.
    pub drain: u64,
}

/// What runs the filter in nginx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Our module, for a stock nginx.
    Sluice {
        /// `libngx_sluice.so`.
        module: PathBuf,
        /// The filter, as `sluice-compile` wrote it.
        filter: PathBuf,
    },
    /// Kong's ngx_wasm_module.
    Kong {
        /// Where that is not a part of the program.
        module: Option<PathBuf>,
        /// The filter, as it is shipped.
        filter: PathBuf,
        /// What wasmtime is told of its cache, so that workers need not compile.
        cache: PathBuf,
    },
}

impl Engine {
    /// Whether it is Kong's.
    #[must_use]
    pub fn is_kongs(&self) -> bool {
        matches!(self, Engine::Kong { .. })
    }
}

/// A version of OpenSSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenSsl {
    /// The first number.
    pub major: u32,
    /// The second one.
    pub minor: u32,
}

impl OpenSsl {
    /// What `nginx -V` says: `built with OpenSSL 3.0.20 7 Apr 2026 (running with OpenSSL 3.5.1 ...)`.
    #[must_use]
    pub fn of_nginx(said: &str) -> Option<Self> {
        let (_, version) = said.rsplit_once("OpenSSL ")?;
        let mut numbers = version.split(|letter: char| !letter.is_ascii_digit());
        Some(OpenSsl { major: numbers.next()?.parse().ok()?, minor: numbers.next()?.parse().ok()? })
    }
}

impl Settings {
    /// The folder of certificates and keys. `default.pem` in it is what hosts without one of their own present.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        self.folder.join("certificates")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_openssl_that_runs_counts_and_not_the_one_it_was_built_with() {
        let of = |said| OpenSsl::of_nginx(said).map(|OpenSsl { major, minor }| (major, minor));
        assert_eq!(
            of("built with OpenSSL 3.0.20 7 Apr 2026 (running with OpenSSL 3.5.1 2 Jan 2027)\nTLS"),
            Some((3, 5))
        );
        assert_eq!(
            of("built with OpenSSL 3.0.20 7 Apr 2026\nconfigure arguments: --with-openssl"),
            Some((3, 0))
        );
        assert_eq!(of("nginx version: nginx/1.22.1"), None);
    }
}
