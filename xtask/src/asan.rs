//! `cargo xtask asan`: the nginx module with AddressSanitizer in it, in the distribution's nginx, under the module's own tests.
//!
//! ```text
//!   rustc -Zsanitizer=address   the module and all that it is linked with; the compiler of everything else, told to take
//!                               an option that is not stable yet
//!   gcc's libasan.so            the runtime, loaded before nginx's own libraries by a script in the place of nginx
//! ```
//!
//! nginx itself is not instrumented, but every block that it allocates has red zones. Its pools are blocks.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::build::cargo;
use crate::fuzz::host;
use crate::step::{Step, missing, say};
use crate::target;

/// Options of the runtime. wasmtime takes SIGSEGV for itself; nginx frees nothing when it ends.
const OPTIONS: &str = "detect_leaks=0:handle_segv=0:handle_sigill=0:allow_user_segv_handler=1:abort_on_error=1:\
    detect_stack_use_after_return=0";

/// Everything that it makes.
fn folder() -> PathBuf {
    target().join("asan")
}

/// The module, with the checks of a debug build.
pub(crate) fn module() -> Result<PathBuf> {
    let title = "the nginx module with AddressSanitizer";
    let (mut step, triple, folder) = (Step::start(title), host()?, folder());
    let mut command = cargo();
    command.args([
        "build",
        "-p",
        "sluice-nginx-module",
        "--profile",
        "module",
        "--target",
        &triple,
    ]);
    command.arg("--target-dir").arg(&folder);
    command
        .env("CARGO_PROFILE_MODULE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_PROFILE_MODULE_OVERFLOW_CHECKS", "true");
    command.env("RUSTC_BOOTSTRAP", "1").env(
        "RUSTFLAGS",
        "-Zsanitizer=address -Cdebuginfo=1 -Cstrip=none",
    );
    step.run(&mut command)?;
    step.done();
    let module = folder.join(triple).join("module/libngx_sluice.so");
    ensure!(module.is_file(), "the build left no {}", module.display());
    Ok(module)
}

/// A script in the place of nginx, in the same folder, because tests look for nginx's other modules from there.
pub(crate) fn nginx(binary: &Path) -> Result<PathBuf> {
    let reports = reports();
    if reports.exists() {
        fs::remove_dir_all(&reports).with_context(|| reports.display().to_string())?;
    }
    fs::create_dir_all(&reports)?;
    let script = binary.with_file_name("nginx-with-asan");
    let text = format!(
        "#!/bin/sh\nexec env LD_PRELOAD={} ASAN_OPTIONS={OPTIONS}:log_path={}/report {} \"$@\"\n",
        runtime()?.display(),
        reports.display(),
        binary.display()
    );
    fs::write(&script, text).with_context(|| script.display().to_string())?;
    fs::set_permissions(&script, Permissions::from_mode(0o755))?;
    Ok(script)
}

fn reports() -> PathBuf {
    folder().join("reports")
}

fn runtime() -> Result<PathBuf> {
    let mut command = Command::new("gcc");
    let output = command
        .arg("-print-file-name=libasan.so")
        .output()
        .with_context(|| missing(&command))?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    // Without it, gcc says what it was asked.
    ensure!(
        path.is_absolute(),
        "gcc has no libasan.so: sudo apt-get install libgcc-12-dev, or that of your gcc"
    );
    Ok(path.canonicalize()?)
}

/// Whatever was found, whether a test has noticed or not.
pub(crate) fn found_nothing() -> Result<()> {
    let reports = reports();
    let mut files = fs::read_dir(&reports)?.flatten();
    let Some(first) = files.next() else {
        say("  AddressSanitizer found nothing");
        return Ok(());
    };
    let text = fs::read_to_string(first.path())?;
    text.lines().take(60).for_each(say);
    bail!(
        "AddressSanitizer found something; {} reports are in {}",
        1 + files.count(),
        reports.display()
    )
}
