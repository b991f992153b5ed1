//! The filter as a module of Envoy.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::ensure;

/// Folders that Envoy looks for modules in.
pub(super) const SEARCH_PATH: &str = "ENVOY_DYNAMIC_MODULES_SEARCH_PATH";

/// Lets an Envoy load a module, which serves nothing and ends.
///
/// # Errors
///
/// It does not load it: another libc, or a file that is none.
pub fn try_module(program: &Path, module: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command
        .args(["--mode", "validate", "--log-level", "critical"])
        .arg("--config-yaml")
        .arg(sluice_xds::module_bootstrap().to_string());
    if let Some(folder) = module.parent() {
        command.env(SEARCH_PATH, folder);
    }
    let output = command.stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    // The last line says why.
    let reason = text.trim().lines().last().unwrap_or_default();
    ensure!(
        output.status.success(),
        "{} does not load {}: {reason}",
        program.display(),
        module.display()
    );
    Ok(())
}
