//! Requirements that a fresh machine lacks: Rust's wasm target, an Envoy, an nginx, a PHP, ModSecurity, Helm, kubectl,
//! Prometheus, a browser, podman.

mod apt;
mod browser;
mod cross;
mod envoy;
mod helm;
mod nginx;
mod peers;
mod php;
mod podman;
mod prometheus;
mod tool;
mod venv;
mod waf;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::{Step, missing};

pub(crate) use browser::browser;
pub(crate) use cross::cross;
pub(crate) use envoy::{ENVOY_VERSION, envoy, envoy_for};
pub(crate) use helm::helm;
pub(crate) use nginx::{nginx, source as nginx_source, version_of_sources as nginx_version};
pub(crate) use peers::peers;
pub(crate) use php::php;
pub(crate) use podman::podman;
pub(crate) use prometheus::prometheus;
pub(crate) use tool::{Tool, tool};
pub(crate) use waf::waf;

/// Compilation target of the filter.
pub(crate) const WASM_TARGET: &str = "wasm32-wasip1";

/// Prepares everything.
pub(crate) fn all() -> Result<()> {
    wasm_target()?;
    envoy()?;
    nginx()?;
    beside_tests()
}

/// Programs that tests run, and that nothing is built with.
pub(crate) fn beside_tests() -> Result<()> {
    php()?;
    helm()?;
    browser()?;
    prometheus()?;
    waf()?;
    podman()
}

/// Rust's standard library for the filter.
pub(crate) fn wasm_target() -> Result<()> {
    rust_target(WASM_TARGET)
}

fn rust_target(name: &str) -> Result<()> {
    let mut step = Step::start(&format!("Rust target {name}"));
    if !has_target(name)? {
        let mut command = Command::new("rustup");
        let added = step.run(command.args(["target", "add", name]));
        added.with_context(|| {
            format!("without rustup, install your Rust's {name} standard library")
        })?;
    }
    step.done();
    Ok(())
}

fn has_target(name: &str) -> Result<bool> {
    let mut command = Command::new("rustc");
    let output = command
        .args(["--print", "sysroot"])
        .output()
        .with_context(|| missing(&command))?;
    let sysroot = String::from_utf8(output.stdout)?;
    Ok(Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(name)
        .join("lib")
        .is_dir())
}
