//! The run folder says which process is our data plane and where it is found. Nobody else has a say there: a folder that
//! somebody else could have prepared is refused, and a process that is not provably ours gets no signal.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::manifests::Ingress;
use sluice_tests::proc;
use tempfile::TempDir;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    run_dir_prepared_by_another_user_is_rejected,
    foreign_process_is_never_signaled,
);

const HOST: &str = "owner.test";
const NOBODY: u32 = 65_534;

/// A folder, and what is wrong with it.
type HostileDir = (TempDir, PathBuf);

/// Files that a data plane or its supervisor would believe are somebody else's, or the folder is.
fn hostile_dirs(elsewhere: &Path) -> Result<Vec<HostileDir>> {
    let victim = elsewhere.join("victim");
    fs::write(&victim, "precious")?;
    let socket = elsewhere.join("socket");
    drop(UnixListener::bind(&socket)?);
    let mut hostile = Vec::new();
    for (name, to) in [
        ("envoy-admin.sock", &socket),
        ("controller.sock", &socket),
        ("envoy.json", &victim),
        ("lock", &victim),
    ] {
        let folder = TempDir::new()?;
        let entry = folder.path().join(name);
        symlink(to, &entry)?;
        hostile.push((folder, entry));
    }
    let folder = TempDir::new()?;
    let nginx = folder.path().join("nginx");
    symlink(elsewhere, &nginx)?;
    hostile.push((folder, nginx));
    let open = TempDir::new()?;
    fs::set_permissions(open.path(), Permissions::from_mode(0o777))?;
    let path = open.path().to_owned();
    hostile.push((open, path));
    if rustix::process::geteuid().is_root() {
        let foreign = TempDir::new()?;
        chown(foreign.path(), Some(NOBODY), None)?;
        let path = foreign.path().to_owned();
        hostile.push((foreign, path));
    }
    Ok(hostile)
}

async fn run_dir_prepared_by_another_user_is_rejected(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let elsewhere = TempDir::new()?;
    for (folder, culprit) in hostile_dirs(elsewhere.path())? {
        let before = fs::read_dir(folder.path())?.count();
        let sluice = plane
            .options(&tenants.manifests)
            .run_in_folder(folder.path())
            .spawn()?;
        let log = sluice.log().clone();
        ensure!(
            !sluice.exit_status().await?.success(),
            "{} was taken",
            culprit.display()
        );
        let said = log.tail();
        ensure!(
            said.contains("--run-dir") && said.contains(&culprit.display().to_string()),
            "{said}"
        );
        ensure!(
            fs::read_dir(folder.path())?.count() == before,
            "something was written into {}",
            culprit.display()
        );
    }
    ensure!(fs::read_to_string(elsewhere.path().join("victim"))? == "precious");
    ensure!(
        fs::read_dir(elsewhere.path())?.count() == 2,
        "something was written through a symlink"
    );
    Ok(())
}

/// Somebody who has nothing to do with us.
struct UnrelatedProcess(Child);

impl UnrelatedProcess {
    fn start() -> Result<UnrelatedProcess> {
        Ok(UnrelatedProcess(Command::new("sleep").arg("600").spawn()?))
    }

    /// The record of it, were it ours: every word is true.
    fn record(&self) -> Result<String> {
        let pid = self.0.id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let after_name = stat.rsplit_once(") ").context("stat")?.1;
        let started: u64 = after_name
            .split(' ')
            .nth(19)
            .context("starttime")?
            .parse()?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let program = fs::metadata(format!("/proc/{pid}/exe"))?;
        let record = json!({
            "pid": pid, "boot": boot.trim(), "started": started,
            "program": [program.dev(), program.ino()], "serves": null,
        });
        Ok(record.to_string())
    }
}

impl Drop for UnrelatedProcess {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

async fn foreign_process_is_never_signaled(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants
        .manifests
        .ingress(&Ingress::new(OWNER, "web").host(HOST).path("/", "web", 80))?;
    let (folder, unrelated) = (TempDir::new()?, UnrelatedProcess::start()?);
    fs::create_dir(folder.path().join("nginx"))?;
    for file in ["envoy.json", "envoy-former.json", "nginx/nginx.json"] {
        fs::write(folder.path().join(file), unrelated.record()?)?;
    }
    let sluice = plane
        .options(&tenants.manifests)
        .run_in_folder(folder.path())
        .start()
        .await?;
    sluice.wait_for_pod(HOST, OWNER).await?;
    ensure!(
        proc::is_running(unrelated.0.id()),
        "it was ended: {}",
        sluice.log().tail()
    );
    sluice.stop()?;
    ensure!(
        proc::is_running(unrelated.0.id()),
        "it was ended with the controller"
    );
    Ok(())
}
