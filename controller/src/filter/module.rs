//! The filter as a module of Envoy: whether it fits, and where it is.

use std::path::{Path, PathBuf};

use anyhow::bail;
use sluice_dataplane::envoy;
use sluice_dataplane::find_program::{find_installed, installed_file};
use tracing::info;

use crate::args::{EnvoyFilter, Run};

/// The file that is installed with this program.
const NAME: &str = "libsluice_envoy.so";
/// Versions of Envoy with the ABI that the module was written for: Envoy promises it to stay for one release.
const VERSIONS: &[&str] = &["1.40."];

/// A file with the module, if the filter is to be one in this Envoy.
pub(crate) fn chosen(args: &Run, envoy: &Path) -> anyhow::Result<Option<PathBuf>> {
    let given = args.envoy_module.as_deref();
    let file = match args.envoy_filter {
        EnvoyFilter::Wasm => return Ok(None),
        EnvoyFilter::Module => {
            if let Err(reason) = fits(envoy) {
                bail!("--envoy-filter module: {reason}");
            }
            installed_file(given, NAME, "--envoy-module")?
        }
        EnvoyFilter::Auto => {
            let unfit = |reason: &str| info!("the filter runs as wasm: {reason}");
            if args.filter_wasm.is_some() && given.is_none() {
                unfit("--filter-wasm is set");
                return Ok(None);
            }
            if given.is_none() && find_installed(NAME).is_none() {
                unfit(&format!("no {NAME} is installed with this program"));
                return Ok(None);
            }
            if let Err(reason) = fits(envoy) {
                unfit(&reason);
                return Ok(None);
            }
            installed_file(given, NAME, "--envoy-module")?
        }
    };
    info!("the filter runs as a module of Envoy: {}", file.display());
    Ok(Some(file))
}

/// The reason why the module is not for this Envoy, if there is one.
fn fits(envoy: &Path) -> Result<(), String> {
    let version = envoy::version(envoy)
        .map_err(|error| format!("the version of {} is not known: {error:#}", envoy.display()))?;
    if VERSIONS.iter().any(|prefix| version.starts_with(prefix)) {
        return Ok(());
    }
    let known: Vec<String> = VERSIONS.iter().map(|prefix| format!("{prefix}x")).collect();
    Err(format!(
        "{} is Envoy {version}, and the module is for {}",
        envoy.display(),
        known.join(", ")
    ))
}
