//! The form of the filter in an Envoy of our own: a module where it is installed and this Envoy loads it, otherwise wasm.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use sluice_dataplane::envoy;
use sluice_dataplane::find_program::installed_file;
use sluice_xds::MODULE_NAME;
use tracing::info;

use crate::args::{Child, EnvoyFilter};

/// Versions of Envoy with the ABI that the module was written for: Envoy promises it to stay for one release.
const VERSIONS: &[&str] = &["1.40."];

/// The module, if this Envoy is to have the filter as one.
pub(crate) fn module(flags: &Child, envoy: &Path) -> anyhow::Result<Option<PathBuf>> {
    if flags.envoy_filter == EnvoyFilter::Wasm {
        return Ok(None);
    }
    match usable(flags.envoy_module.as_deref(), envoy) {
        Ok(module) => {
            info!("the filter runs as a module of Envoy: {}", module.display());
            Ok(Some(module))
        }
        Err(reason) if flags.envoy_filter == EnvoyFilter::Module => {
            Err(reason.context("--envoy-filter module"))
        }
        Err(reason) => {
            info!("the filter runs as wasm: {reason:#}");
            Ok(None)
        }
    }
}

fn usable(given: Option<&Path>, envoy: &Path) -> anyhow::Result<PathBuf> {
    // Envoy looks for this name in folders.
    let name = format!("lib{MODULE_NAME}.so");
    let module = installed_file(given, &name, "--envoy-module", "cargo xtask install")?;
    ensure!(
        module.file_name().is_some_and(|file| file == name.as_str()),
        "--envoy-module {}: expected a file with the name {name}, by which Envoy looks for it",
        module.display()
    );
    let program = envoy.display();
    let version = envoy::version(envoy).with_context(|| format!("the version of {program}"))?;
    if !VERSIONS.iter().any(|known| version.starts_with(known)) {
        let known: Vec<String> = VERSIONS.iter().map(|known| format!("{known}x")).collect();
        let known = known.join(", ");
        bail!("{program} is Envoy {version}, and the module is for {known}");
    }
    envoy::try_module(envoy, &module)?;
    Ok(module)
}
