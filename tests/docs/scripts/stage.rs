//! The folder of a reader: files of the repository that commands name, programs, and stand-ins for addresses.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal};
use sluice_tests::artifacts::{self, repository};
use sluice_tests::ports::{Network, Port};
use tempfile::TempDir;

use super::blocks::Command;
use super::cluster::ReaderCluster;
use super::listed::Fate;

/// Folders that commands name.
const FOLDERS: [&str; 3] = ["examples", "envoy/drop-in", "controller/deploy/helm"];
/// The page whose commands are typed in its own folder.
const CHART: &str = "controller/deploy/helm/sluice";
/// Files of the reader's own, here in `scripts/files`.
const FILES: &str = "tests/docs/scripts/files";
/// Longest run of a page.
const LIMIT: Duration = Duration::from_secs(60);

/// The folder, and what is around it.
pub(crate) struct Stage {
    root: TempDir,
    cluster: ReaderCluster,
    /// Texts of pages and files, and what stands there for them.
    stand_ins: Vec<(String, String)>,
    _network: Network,
    _ports: Vec<Port>,
}

impl Stage {
    pub(crate) async fn start() -> Result<Stage> {
        let (network, root) = (Network::reserve()?, tempfile::tempdir()?);
        let ports: Vec<Port> = (0..4).map(|_| Port::reserve()).collect::<Result<_>>()?;
        programs(&root.path().join("bin"), &ports)?;
        let cluster = ReaderCluster::start(&root.path().join("bin")).await?;
        let pod = network.pod(0);
        let pods = pod.ip().to_string();
        let data_plane = cluster.address().to_string();
        let stand_in = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let stage = Stage {
            stand_ins: vec![
                // Short numbers first: they may be parts of what stands in for others.
                stand_in("9001", &pod.port().to_string()),
                stand_in("10000", &ports[3].number().to_string()),
                stand_in("127.0.0.1:8080", &ports[0].addr().to_string()),
                stand_in("127.10.0.", pods.trim_end_matches(|digit| digit != '.')),
                stand_in("10.0.0.1 ", &format!("{data_plane} ")),
                stand_in("10.0.0.2 ", &format!("{data_plane} ")),
                stand_in("sluice-system", cluster.namespace()),
                stand_in(" DIR", " manifests"),
            ],
            root,
            cluster,
            _network: network,
            _ports: ports,
        };
        for folder in FOLDERS {
            stage.copy(&repository().join(folder), &stage.path(folder))?;
        }
        for folder in ["", CHART] {
            stage.copy(&repository().join(FILES), &stage.path(folder))?;
        }
        let filter = stage.path("target/wasm32-wasip1/filter");
        fs::create_dir_all(&filter)?;
        symlink(artifacts::filter()?, filter.join("sluice_filter.wasm"))?;
        let kubeconfig = stage.path("home/.kube");
        fs::create_dir_all(&kubeconfig)?;
        fs::write(kubeconfig.join("config"), stage.cluster.kubeconfig()?)?;
        Ok(stage)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    /// With stand-ins for addresses.
    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
            let path = entry?.path();
            let copy = to.join(path.file_name().unwrap_or_default());
            if path.is_dir() {
                self.copy(&path, &copy)?;
                continue;
            }
            match String::from_utf8(fs::read(&path)?) {
                Ok(text) => fs::write(&copy, self.replaced(&text))?,
                Err(bytes) => fs::write(&copy, bytes.as_bytes())?,
            }
        }
        Ok(())
    }

    fn replaced(&self, text: &str) -> String {
        let replace = |text: String, (from, to): &(String, String)| text.replace(from, to);
        self.stand_ins.iter().fold(text.to_owned(), replace)
    }

    /// Commands of a page, one after the other; the first that fails ends it.
    pub(crate) fn script(&self, page: &str, commands: &[(&Command, Fate)]) -> Result<String> {
        let mut script = PROLOGUE.to_owned();
        for (command, fate) in commands {
            let code = self.replaced(&command.text);
            writeln!(script, "echo '--- {page}:{}' >&2", command.line)?;
            match fate {
                Fate::RunInBackground => {
                    writeln!(script, "{} &", self.replaced(&command.name()))?;
                }
                Fate::RunForOutput => {
                    let output = command.output.as_deref();
                    let output = output.with_context(|| format!("no output of {code}"))?;
                    write!(
                        script,
                        "shown() {{\n{code}\n}}\nsays <<'END'\n{output}END\n"
                    )?;
                }
                Fate::Run | Fate::Listed => writeln!(script, "{code}")?,
            }
        }
        Ok(script)
    }

    pub(crate) async fn run(&self, page: &str, script: &str) -> Result<()> {
        let file = self.path("page.sh");
        fs::write(&file, script)?;
        let folder = match page.starts_with(CHART) {
            true => self.path(CHART),
            false => self.root.path().to_owned(),
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let log = self.path("page.log");
        let output = fs::File::create(&log)?;
        let mut command = Process::new("bash");
        command
            .arg(file)
            .current_dir(folder)
            .process_group(0)
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .env("ENVOY_BINARY", artifacts::envoy()?)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let mut child = command.spawn().context("bash")?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let ended = tokio::task::spawn_blocking(move || child.wait());
        let ended = tokio::time::timeout(LIMIT, ended).await;
        if ended.is_err()
            && let Some(group) = group
        {
            rustix::process::kill_process_group(group, Signal::KILL)?;
        }
        let said = fs::read_to_string(&log)?;
        let ended = ended.with_context(|| format!("it does not end: {said}"))???;
        ensure!(ended.success(), "{ended}: {said}");
        Ok(())
    }

    pub(crate) fn end(self) -> Result<()> {
        self.cluster.installation.controller.stop()
    }
}

/// Programs of the reader. `sluice` and `curl` are the real ones, with ports of the test's own and with patience; there is no Docker and
/// no cluster, so `helm` renders what it would install.
fn programs(folder: &Path, ports: &[Port]) -> Result<()> {
    fs::create_dir(folder)?;
    for (name, program) in [
        ("kubectl", artifacts::kubectl()?),
        ("kubectl-sluice", artifacts::sluice()?),
    ] {
        symlink(program, folder.join(name))?;
    }
    let [http, https, health] = [0, 1, 2].map(|n| ports[n].number());
    let flags = format!(
        "--bind-address 127.0.0.1 --http-port {http} --https-port {https} --healthz-port {health} --drain-timeout 1 \
         --shutdown-grace-period 0 --post-shutdown-grace-period 0"
    );
    let sluice = artifacts::sluice()?;
    let helm = artifacts::helm()?;
    for (name, text) in [
        (
            "sluice",
            SLUICE
                .replace("FLAGS", &flags)
                .replace("SLUICE", &sluice.display().to_string()),
        ),
        (
            "envoy",
            format!(
                "exec {} --use-dynamic-base-id \"$@\"\n",
                artifacts::envoy()?.display()
            ),
        ),
        (
            "cargo",
            format!(
                "[ \"$1 $2\" = 'xtask demo' ] || exit 1\nshift 2\nexec {} --http-port {http} \"$@\"\n",
                env!("CARGO_BIN_EXE_sluice-demo")
            ),
        ),
        ("helm", HELM.replace("HELM", &helm.display().to_string())),
        ("kustomize", "exec kubectl kustomize .\n".to_owned()),
        ("curl", CURL.to_owned()),
    ] {
        let file = folder.join(name);
        fs::write(&file, format!("#!/bin/bash\n{text}"))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Pods of the fake cluster have loopback addresses.
const SLUICE: &str = "\
case $1 in
run) set -- \"$@\" FLAGS ;;
lint) [[ $* != *kube* ]] || set -- \"$@\" --allow-upstream-cidr 127.0.0.0/8 ;;
esac
exec SLUICE \"$@\"
";

const HELM: &str = "\
case $1 in install | upgrade) ;; *) exit 1 ;; esac
shift
arguments=()
for argument; do
  case $argument in --wait | --reuse-values) ;; *) arguments+=(\"$argument\") ;; esac
done
exec HELM template \"${arguments[@]}\"
";

/// Servers of the same page may not listen yet.
const CURL: &str = "\
for try in $(seq 150); do
  PATH=/usr/local/bin:/usr/bin:/bin curl --silent --show-error --max-time 10 \"$@\"
  status=$?
  [ $status = 7 ] || exit $status
  sleep 0.2
done
exit $status
";

/// `says` waits until the output of `shown` is as its input.
const PROLOGUE: &str = "\
set -euo pipefail
export KUBECONFIG=~/.kube/config
finish() {
  status=$?
  jobs -p | xargs -r kill || true
  wait || true
  exit $status
}
trap finish EXIT
says() {
  expected=$(sed 's/^ *//; s/ *$//')
  for try in $(seq 60); do
    said=$(shown 2>&1 | sed 's/^ *//; s/ *$//') || true
    [ \"$said\" != \"$expected\" ] || return 0
    sleep 0.2
  done
  printf 'expected:\\n%s\\nsaid:\\n%s\\n' \"$expected\" \"$said\"
  return 1
}
";
