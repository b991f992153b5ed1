//! A real nginx that reads a configuration and all files of it, and serves nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use sluice_filter_config::Host;
use sluice_host_table::{PathEntry, Shard, shard_of};
use sluice_ir::{Config, ServerName};
use sluice_nginx::{
    AccessLog, Engine, Files, ModSecurity, OpenSsl, Rendered, Settings, Streams, render,
};
use sluice_tests::artifacts;
use sluice_tests::certificate::Pair;
use sluice_tests::ports::Port;
use tempfile::TempDir;

pub(crate) struct Tried {
    binary: PathBuf,
    settings: Settings,
    default: Pair,
    folder: TempDir,
    _ports: [Port; 2],
}

impl Tried {
    /// With our module, without and with a host table, and where there is one, an nginx with Kong's.
    pub(crate) fn all() -> Vec<Tried> {
        let ours = Engine::Sluice {
            module: artifacts::nginx_module().unwrap(),
            wasm: None,
        };
        let kongs = artifacts::ngx_wasm().map(|binary| {
            let filter = artifacts::filter().unwrap();
            Tried::new(binary, |folder| {
                let cache = folder.join("cache.toml");
                fs::write(&cache, "[cache]\n").unwrap();
                Engine::Kong {
                    module: None,
                    filter,
                    cache,
                }
            })
        });
        let whole = Tried::new(artifacts::nginx().unwrap(), |_| ours.clone());
        let mut by_table = Tried::new(artifacts::nginx().unwrap(), |_| ours);
        by_table.settings.host_table = true;
        [whole, by_table].into_iter().chain(kongs).collect()
    }

    fn new(binary: PathBuf, engine: impl FnOnce(&Path) -> Engine) -> Tried {
        let ports = [Port::reserve().unwrap(), Port::reserve().unwrap()];
        let folder = tempfile::Builder::new()
            .prefix("sluice-nginx-")
            .tempdir()
            .unwrap();
        let said = Command::new(&binary).arg("-V").output().unwrap().stderr;
        let said = String::from_utf8_lossy(&said);
        let at = |name: &str| folder.path().join(name);
        let engine = engine(folder.path());
        let host = if engine.is_kongs() {
            Host::NgxWasm
        } else {
            Host::Nginx
        };
        let upstream = format!("unix:{}", at("controller.sock").display());
        let bootstrap_config = sluice_plugin::bootstrap_config(host, &upstream, "sluice").to_json();
        let settings = Settings {
            bootstrap_config: String::from_utf8(bootstrap_config).unwrap(),
            controller: at("controller.sock"),
            folder: folder.path().to_owned(),
            workers: Some(1),
            requests: Some(at("requests")),
            access_log: Some(AccessLog {
                output: at("output"),
                errors: at("errors"),
            }),
            streams: Streams::of_nginx(&said, &binary, Path::is_file),
            // Without the core rules, which take long to parse.
            modsecurity: ModSecurity::of_nginx(&said, &binary, Path::is_file)
                .filter(|_| !engine.is_kongs())
                .map(|module| ModSecurity {
                    core_rules: Vec::new(),
                    ..module
                }),
            openssl: OpenSsl::of_nginx(&said),
            ..Settings::new(engine, ports[0].addr(), ports[1].addr())
        };
        let default = Pair::of(&["default.test"]).unwrap();
        Tried {
            binary,
            settings,
            default,
            folder,
            _ports: ports,
        }
    }

    /// Tests a configuration with `nginx -t`.
    pub(crate) fn takes(&self, config: &Config) -> Result<(), String> {
        let rendered = render(config, &self.settings);
        self.write(&rendered.files)
            .map_err(|error| error.to_string())?;
        let file = self.folder.path().join("nginx.conf");
        fs::write(&file, &*rendered.text).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.binary);
        command
            .args(["-t", "-q", "-e", "stderr", "-p"])
            .arg(self.folder.path())
            .arg("-c")
            .arg(&file);
        let output = command.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            has_each_host_once(config, &rendered)
        } else {
            Err(format!(
                "nginx refused\n{said}{}",
                line(&said, &rendered.text)
            ))
        }
    }

    /// As the controller does.
    fn write(&self, files: &Files) -> std::io::Result<()> {
        let folder = self.settings.certificates();
        fs::remove_dir_all(&folder).ok();
        fs::create_dir(&folder)?;
        fs::create_dir_all(self.settings.pods())?;
        fs::write(
            folder.join("default.pem"),
            format!("{}{}", self.default.pem, self.default.key),
        )?;
        for (name, text) in files.pinned.iter().chain(&files.presented) {
            fs::write(folder.join(name), text.reveal())?;
        }
        files
            .cert_links
            .iter()
            .try_for_each(|(name, target)| symlink(target, folder.join(name)))
    }
}

/// The line that nginx complains of.
fn line(said: &str, conf: &str) -> String {
    let number = said
        .rsplit_once("nginx.conf:")
        .and_then(|(_, number)| number.trim().parse::<usize>().ok());
    let line = number.and_then(|number| conf.lines().nth(number.checked_sub(1)?));
    line.map(str::to_owned).unwrap_or_default()
}

/// Each host is in nginx.conf or in the host table, and what the table leads to is in nginx.conf.
fn has_each_host_once(config: &Config, rendered: &Rendered) -> Result<(), String> {
    let Some(table) = &rendered.table else {
        return Ok(());
    };
    let shards = table.shards.iter();
    let shards = shards.map(|shard| Shard::parse(shard.text.as_bytes()));
    let shards: Vec<Shard> = shards
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    let has = |name: &str| shards[shard_of(name.as_bytes())].hosts.contains_key(name);
    let named = config.servers.keys().filter_map(|name| match name {
        ServerName::Exact(name) => Some(name.as_str()),
        ServerName::Wildcard(_) | ServerName::CatchAll => None,
    });
    for name in named {
        let is_in_conf = rendered.text.contains(&format!("server_name \"{name}\""));
        if is_in_conf == has(name) {
            return Err(format!(
                "{name}: in nginx.conf and in the table: {is_in_conf}"
            ));
        }
    }
    let mut entries = shards
        .iter()
        .flat_map(|shard| shard.hosts.values().flatten());
    let is_missing = |entry: &&PathEntry| {
        let location = format!("    location \"{}\" {{\n", entry.profile);
        !rendered.text.contains(&location)
    };
    match entries.find(is_missing) {
        Some(entry) => Err(format!("{entry:?} leads nowhere")),
        None => Ok(()),
    }
}
