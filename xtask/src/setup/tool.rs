//! Programs that are built from crates.io, once: there is no package of them that is fetched as Envoy is.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::build::cargo;
use crate::step::Step;
use crate::target;

/// A crate with a program of the same name.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Features in place of the default ones.
    pub(crate) features: Option<&'static str>,
}

/// Has the program in `target/tools`.
pub(crate) fn tool(tool: &Tool) -> Result<PathBuf> {
    let Tool { name, version, .. } = tool;
    let root = target().join("tools");
    let program = root.join("bin").join(name);
    let mut step = Step::start(&format!("{name} {version}"));
    if !is_current(&program, version) {
        step.run(&mut install(tool, &root))
            .with_context(|| format!("{name} is built from crates.io"))?;
    }
    step.done();
    Ok(program)
}

/// With a target folder of its own, and nothing optimised: it runs for seconds, and compiles for minutes as it is.
fn install(tool: &Tool, root: &Path) -> Command {
    let mut install = cargo();
    install.args(["install", "--locked", "--debug", "--quiet", "--no-track"]);
    install.args(["--force", "--root"]).arg(root);
    install.arg("--target-dir").arg(root.join("build"));
    install.env("CARGO_PROFILE_DEV_DEBUG", "none");
    if let Some(features) = tool.features {
        install.args(["--no-default-features", "--features", features]);
    }
    install.arg(format!("{}@{}", tool.name, tool.version));
    install
}

/// `cargo-deny 0.20.2`, `mdbook v0.5.4`.
fn is_current(program: &Path, version: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stdout);
        let last = said.split_whitespace().last().unwrap_or_default();
        last.trim_start_matches('v') == version
    })
}
