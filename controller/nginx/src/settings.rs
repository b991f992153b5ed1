//! Settings of the controller, beside the IR.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// Settings of the machine that nginx runs on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Host of the filter.
    pub engine: Engine,
    /// The filter's configuration; it says where the controller is.
    pub bootstrap_config: String,
    /// The controller's socket, where nginx asks who may come in.
    pub controller: PathBuf,
    /// Address for http.
    pub http: SocketAddr,
    /// Address for https.
    pub https: SocketAddr,
    /// More addresses, with the same ports.
    pub others: Vec<IpAddr>,
    /// nginx's own files: its process id, sockets, certificates, bodies that do not fit into memory.
    pub folder: PathBuf,
    /// User of the workers; `None` is that of nginx itself, which is not root.
    pub user: Option<String>,
    /// Worker processes; `None` is one for each core.
    pub workers: Option<u32>,
    /// Socket of the request log for the controller, if requests are counted.
    pub requests: Option<PathBuf>,
    /// Access log for operators, if there is one.
    pub access_log: Option<AccessLog>,
    /// The stream module of nginx, if it has one.
    pub streams: Option<Streams>,
    /// ModSecurity's module, if nginx has it.
    pub modsecurity: Option<ModSecurity>,
    /// Socket of nginx's counters of connections, if it has them.
    pub status: Option<PathBuf>,
    /// The OpenSSL that nginx runs with, where that is known.
    pub openssl: Option<OpenSsl>,
    /// Hosts may be in a table that the module reads, in place of nginx.conf.
    pub host_table: bool,
    /// Seconds that workers of a former configuration have for open requests.
    pub drain: u64,
}

/// Files whose lines the controller passes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// To standard output.
    pub output: PathBuf,
    /// To standard error.
    pub errors: PathBuf,
}

/// nginx's stream module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streams {
    /// The library that it is in; `None` where it is a part of nginx itself.
    pub module: Option<PathBuf>,
    /// It can take the client's address from a PROXY header.
    pub believes_headers: bool,
    /// It can look at the name in a TLS handshake.
    pub reads_names: bool,
}

/// ModSecurity's module for nginx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModSecurity {
    /// The library.
    pub module: PathBuf,
    /// Files of the OWASP Core Rule Set, in their order; none where it is not installed.
    pub core_rules: Vec<PathBuf>,
    /// Ids of all its rules; `None`: a location that removes them would keep something of it.
    pub core_ids: Option<BTreeSet<u32>>,
    /// Unicode characters by code points.
    pub unicode_map: Option<PathBuf>,
}

/// Host of the filter in nginx.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Our module, for a stock nginx.
    Sluice {
        /// `libngx_sluice.so`.
        module: PathBuf,
        /// The filter as wasm, which `sluice-compile` wrote; without it the one in the module serves.
        wasm: Option<PathBuf>,
    },
    /// Kong's ngx_wasm_module.
    Kong {
        /// Library of the module, if it is not a part of the program.
        module: Option<PathBuf>,
        /// The filter, as it is shipped.
        filter: PathBuf,
        /// wasmtime's cache settings, so that workers need not compile.
        cache: PathBuf,
    },
}

impl Engine {
    /// True for Kong's ngx_wasm_module.
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
    /// Reads the output of `nginx -V`: `built with OpenSSL 3.0.20 7 Apr 2026 (running with OpenSSL 3.5.1 ...)`.
    #[must_use]
    pub fn of_nginx(said: &str) -> Option<Self> {
        let (_, version) = said.rsplit_once("OpenSSL ")?;
        let mut numbers = version.split(|letter: char| !letter.is_ascii_digit());
        Some(OpenSsl {
            major: numbers.next()?.parse().ok()?,
            minor: numbers.next()?.parse().ok()?,
        })
    }
}

impl Streams {
    /// Reads the output of `nginx -V`, and finds the library: where nginx looks for its libraries, or
    /// beside the program, if it was unpacked and not installed. `is_file` looks. Without its limits it is none: what comes
    /// back would not end.
    #[must_use]
    pub fn of_nginx(said: &str, binary: &Path, is_file: impl Fn(&Path) -> bool) -> Option<Self> {
        let has = |wanted: &str| said.split_whitespace().any(|word| word == wanted);
        if has("--without-stream_limit_conn_module") {
            return None;
        }
        let believes_headers = has("--with-stream_realip_module");
        let reads_names = has("--with-stream_ssl_preread_module");
        if has("--with-stream") {
            return Some(Streams {
                module: None,
                believes_headers,
                reads_names,
            });
        }
        let module = library("ngx_stream_module.so", said, binary, is_file)
            .filter(|_| has("--with-stream=dynamic"))?;
        Some(Streams {
            module: Some(module),
            believes_headers,
            reads_names,
        })
    }
}

/// Files of the core rules: as ingress-nginx's image has them, and as Debian has them.
const CORE_RULES: [&[&str]; 2] = [
    &["/etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf"],
    &[
        "/etc/modsecurity/crs/crs-setup.conf",
        "/etc/modsecurity/crs/REQUEST-900-EXCLUSION-RULES-BEFORE-CRS.conf",
        "/usr/share/modsecurity-crs/rules/*.conf",
        "/etc/modsecurity/crs/RESPONSE-999-EXCLUSION-RULES-AFTER-CRS.conf",
    ],
];
const UNICODE_MAPS: [&str; 2] = [
    "/etc/nginx/modsecurity/unicode.mapping",
    "/etc/nginx/unicode.mapping",
];

impl ModSecurity {
    /// Reads the output of `nginx -V`, and finds the library and its files, without [`ModSecurity::core_ids`].
    #[must_use]
    pub fn of_nginx(said: &str, binary: &Path, is_file: impl Fn(&Path) -> bool) -> Option<Self> {
        let module = library("ngx_http_modsecurity_module.so", said, binary, &is_file)?;
        Some(ModSecurity {
            module,
            core_rules: ModSecurity::core_rules(&is_file),
            core_ids: None,
            unicode_map: ModSecurity::unicode_map(&is_file),
        })
    }

    /// Files of the OWASP Core Rule Set on this machine, in their order; none: it is not installed.
    #[must_use]
    pub fn core_rules(is_file: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let is_there = |path: &&&str| path.contains('*') || is_file(Path::new(path));
        let installed = CORE_RULES.iter().find(|files| is_file(Path::new(files[0])));
        let files = installed.into_iter().flat_map(|files| files.iter());
        files.filter(is_there).map(PathBuf::from).collect()
    }

    /// File of Unicode characters on this machine.
    #[must_use]
    pub fn unicode_map(is_file: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let mut maps = UNICODE_MAPS.iter().map(PathBuf::from);
        maps.find(|path| is_file(path))
    }
}

/// A module: where nginx looks for its libraries, or beside the program, if it was unpacked and not installed.
fn library(
    name: &str,
    said: &str,
    binary: &Path,
    is_file: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let mut words = said.split_whitespace();
    let folder = words
        .find_map(|word| word.strip_prefix("--modules-path="))
        .map(PathBuf::from);
    let root = binary.parent().and_then(Path::parent);
    let beside = root
        .into_iter()
        .flat_map(|root| [root.join("lib/nginx/modules"), root.join("modules")]);
    let mut files = folder
        .into_iter()
        .chain(beside)
        .map(|folder| folder.join(name));
    files.find(|file| is_file(file))
}

impl Settings {
    /// Settings of golden files: relative paths, and no logs.
    #[must_use]
    pub fn new(engine: Engine, http: SocketAddr, https: SocketAddr) -> Self {
        Settings {
            engine,
            bootstrap_config: "{}".to_owned(),
            controller: "controller.sock".into(),
            http,
            https,
            others: Vec::new(),
            folder: "nginx".into(),
            user: None,
            workers: None,
            requests: None,
            access_log: None,
            streams: None,
            modsecurity: None,
            status: None,
            openssl: None,
            host_table: false,
            drain: 10,
        }
    }

    /// All addresses with another port.
    pub(crate) fn on_port(&self, port: u16) -> Vec<SocketAddr> {
        let ips = std::iter::once(self.http.ip()).chain(self.others.iter().copied());
        ips.map(|ip| SocketAddr::new(ip, port)).collect()
    }

    /// The folder of certificates and keys. `default.pem` in it is what hosts without one of their own present.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        self.folder.join("certificates")
    }

    /// The folder of host tables.
    #[must_use]
    pub fn hosts(&self) -> PathBuf {
        self.folder.join("hosts")
    }

    /// The folder of files with the pods of TCP and UDP ports.
    #[must_use]
    pub fn pods(&self) -> PathBuf {
        self.folder.join("pods")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_module_is_in_nginx_or_in_a_file_that_is_there() {
        let of = |said, there: &str| {
            Streams::of_nginx(said, Path::new("/opt/nginx/sbin/nginx"), |file| {
                file == Path::new(there)
            })
        };
        let in_file = |file: &str| {
            Some(Streams {
                module: Some(file.into()),
                believes_headers: false,
                reads_names: false,
            })
        };
        let debian =
            "nginx version: x\nconfigure arguments: --modules-path=/m --with-stream=dynamic";
        assert_eq!(
            of(debian, "/m/ngx_stream_module.so"),
            in_file("/m/ngx_stream_module.so")
        );
        let unpacked = "/opt/nginx/lib/nginx/modules/ngx_stream_module.so";
        assert_eq!(of(debian, unpacked), in_file(unpacked));
        assert_eq!(of(debian, "/elsewhere"), None);
        let whole = "configure arguments: --with-stream_realip_module --with-stream_ssl_preread_module --with-stream";
        assert_eq!(
            of(whole, ""),
            Some(Streams {
                module: None,
                believes_headers: true,
                reads_names: true,
            })
        );
        let unlimited = format!("{whole} --without-stream_limit_conn_module");
        assert_eq!(of(&unlimited, ""), None);
        assert_eq!(
            of(
                "configure arguments: --with-http_v2_module",
                "/m/ngx_stream_module.so"
            ),
            None
        );
    }

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
