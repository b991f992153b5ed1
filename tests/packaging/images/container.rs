//! podman, with a storage of its own, on the network of this machine.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};
use sluice_tests::process::Process;
use sluice_tests::wait;
use tempfile::TempDir;

use super::archive;
use crate::pods::Pod;

/// Its storage; containers and images in it end with this.
pub(super) struct Engine {
    folder: TempDir,
}

impl Engine {
    /// Loads images that were built.
    pub(super) fn with(images: &TempDir, names: &[&str]) -> Result<Engine> {
        let folder = tempfile::Builder::new()
            .prefix("sluice-podman-")
            .tempdir()?;
        let engine = Engine { folder };
        for name in names {
            let mut load = engine.podman();
            let output = load
                .args(["load", "--input"])
                .arg(archive(images, name))
                .output();
            let output = output.context("podman: `cargo xtask setup` installs it")?;
            ensure!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(engine)
    }

    fn podman(&self) -> Command {
        let mut podman = Command::new("podman");
        for (option, folder) in [
            ("--root", "root"),
            ("--runroot", "run"),
            ("--tmpdir", "tmp"),
        ] {
            podman.arg(option).arg(self.folder.path().join(folder));
        }
        podman.args([
            "--runtime=runc",
            "--log-level=error",
            "--cgroup-manager=cgroupfs",
        ]);
        podman
    }

    /// Runs an image as a pod's container runs, with folders of this machine at places of the container, for reading only.
    pub(super) fn run(
        &self,
        image: &str,
        pod: &Pod,
        volumes: &[(&Path, &str)],
        arguments: &[String],
    ) -> Result<Container> {
        let mut run = self.podman();
        run.args(["run", "--rm", "--network=host"]).args(limits());
        run.args(restrictions(pod)?);
        for (folder, place) in volumes {
            fs::set_permissions(folder, Permissions::from_mode(0o755))?;
            run.arg(format!("--volume={}:{place}:ro", folder.display()));
        }
        run.arg(format!(
            "docker.io/sluice/{image}:{}",
            env!("CARGO_PKG_VERSION")
        ));
        Ok(Container {
            process: Process::spawn({
                run.args(arguments);
                run
            })?,
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // What a failed test left.
        let _ = self
            .podman()
            .args(["rm", "--all", "--force", "--time=0"])
            .output();
    }
}

/// A container, by the podman that stands for it: that one passes signals on, and ends as the container does.
pub(super) struct Container {
    process: Process,
}

impl Container {
    /// The end of what it said.
    pub(super) fn log(&self) -> String {
        self.process.log().tail()
    }

    /// SIGTERM, as from the kubelet.
    pub(super) fn terminate(&self) {
        self.process.terminate();
    }

    /// Waits until it has ended.
    pub(super) async fn status(mut self) -> Result<ExitStatus> {
        let process = &mut self.process;
        let ended = async || process.check().is_err().then_some(());
        let waited = wait::until("the container to end", ended).await;
        waited.with_context(|| self.log())?;
        self.process.stop()
    }
}

/// Processes and files. podman would raise both, to which not each machine gives its root the right. Envoy and nginx take as many
/// connections as there are files for.
fn limits() -> Vec<String> {
    let mut words = vec!["--ulimit=nproc=4096:4096".to_owned()];
    if let Some(files) = getrlimit(Resource::Nofile).maximum {
        words.push(format!("--ulimit=nofile={files}:{files}"));
    }
    words
}

/// podman's words for the security contexts and the empty folders of a pod with one container. What has no word fails: it would
/// be a restriction that is not tried.
fn restrictions(pod: &Pod) -> Result<Vec<String>> {
    let container = pod.containers().next().context("no container")?;
    let context = &pod.spec["securityContext"];
    let (user, group) = (&context["runAsUser"], &context["runAsGroup"]);
    let mut words = vec![format!("--user={user}:{group}")];
    for (field, value) in context.as_object().context("no securityContext")? {
        match field.as_str() {
            "runAsUser" | "runAsGroup" => {
                ensure!(value.as_u64().is_some_and(|id| id > 0), "{field}");
            }
            "runAsNonRoot" => ensure!(*value == true, "{field}: {value}"),
            // Of volumes; here they are everybody's to read.
            "fsGroup" => {}
            // podman's own is that.
            "seccompProfile" => ensure!(*value == json!({"type": "RuntimeDefault"}), "{value}"),
            other => bail!("securityContext.{other}: {value}"),
        }
    }
    let context = container["securityContext"]
        .as_object()
        .context("no securityContext")?;
    for (field, value) in context {
        match field.as_str() {
            "readOnlyRootFilesystem" if *value == true => {
                words.extend([
                    "--read-only".to_owned(),
                    "--read-only-tmpfs=false".to_owned(),
                ]);
            }
            "allowPrivilegeEscalation" if *value == false => {
                words.push("--security-opt=no-new-privileges".to_owned());
            }
            "capabilities" if *value == json!({"drop": ["ALL"]}) => {
                words.push("--cap-drop=all".to_owned());
            }
            other => bail!("{other}: {value}"),
        }
    }
    words.extend(empty_folders(pod, container));
    Ok(words)
}

fn empty_folders(pod: &Pod, container: &Value) -> Vec<String> {
    let volumes = pod.spec["volumes"].as_array().into_iter().flatten();
    let empty: Vec<&Value> = volumes
        .filter(|volume| volume["emptyDir"].is_object())
        .map(|volume| &volume["name"])
        .collect();
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    let mounts = mounts.filter(|mount| empty.contains(&&mount["name"]));
    mounts
        .filter_map(|mount| mount["mountPath"].as_str())
        .map(|path| format!("--tmpfs={path}:rw,mode=1777,size=16m"))
        .collect()
}
