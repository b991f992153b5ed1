//! The form of the filter in an Envoy of our own: a module where it is installed and fits, otherwise wasm.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use sluice_dataplane::envoy;
use sluice_dataplane::find_program::{find_installed, installed_file};
use sluice_xds::MODULE_NAME;
use tracing::info;

use crate::args::{Child, EnvoyFilter};

/// Versions of Envoy with the ABI that the module was written for: Envoy promises it to stay for one release.
const VERSIONS: &[&str] = &["1.40."];

/// The module, if this Envoy is to have the filter as one.
pub(crate) fn module(flags: &Child, envoy: &Path) -> anyhow::Result<Option<PathBuf>> {
    // Envoy looks for this name in folders.
    let name = format!("lib{MODULE_NAME}.so");
    let given = flags.envoy_module.as_deref();
    let unfit = match flags.envoy_filter {
        EnvoyFilter::Wasm => return Ok(None),
        EnvoyFilter::Auto if given.is_none() && find_installed(&name).is_none() => {
            Some(format!("no {name} is installed with this program"))
        }
        EnvoyFilter::Auto | EnvoyFilter::Module => reason_against(envoy),
    };
    match unfit {
        Some(reason) if flags.envoy_filter == EnvoyFilter::Module => {
            bail!("--envoy-filter module: {reason}")
        }
        Some(reason) => {
            info!("the filter runs as wasm: {reason}");
            return Ok(None);
        }
        None => {}
    }
    let module = installed_file(given, &name, "--envoy-module")?;
    ensure!(
        module.file_name().is_some_and(|file| file == name.as_str()),
        "--envoy-module {}: expected a file with the name {name}, by which Envoy looks for it",
        module.display()
    );
    info!("the filter runs as a module of Envoy: {}", module.display());
    Ok(Some(module))
}

/// The reason why the module is not for this Envoy, if there is one.
fn reason_against(envoy: &Path) -> Option<String> {
    let program = envoy.display();
    match envoy::version(envoy) {
        Ok(version) if VERSIONS.iter().any(|known| version.starts_with(known)) => None,
        Ok(version) => {
            let known: Vec<String> = VERSIONS.iter().map(|known| format!("{known}x")).collect();
            let known = known.join(", ");
            Some(format!(
                "{program} is Envoy {version}, and the module is for {known}"
            ))
        }
        Err(error) => Some(format!("the version of {program} is not known: {error:#}")),
    }
}
