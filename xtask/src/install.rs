//! `cargo xtask install`: the controller and what it runs, where a shell finds them.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::build::{self, Profile};
use crate::setup;
use crate::step::{Step, say};

/// Files of completions, where each shell looks for them below a root.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/sluice"),
    ("zsh", "share/zsh/site-functions/_sluice"),
    ("fish", "share/fish/vendor_completions.d/sluice.fish"),
];

struct Plan {
    root: PathBuf,
    profile: Profile,
    nginx: bool,
}

impl Plan {
    fn parse(arguments: &[String]) -> Result<Plan> {
        let mut plan = Plan {
            root: PathBuf::new(),
            profile: Profile::Release,
            nginx: false,
        };
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            match argument {
                "--root" => plan.root = arguments.next().context("--root needs a folder")?.into(),
                "--debug" => plan.profile = Profile::Dev,
                "--data-plane" => match arguments.next() {
                    Some("nginx") => plan.nginx = true,
                    Some("envoy") => plan.nginx = false,
                    other => bail!("--data-plane is envoy or nginx, not {other:?}"),
                },
                other => bail!(
                    "install has no {other:?}: [--root DIR] [--data-plane envoy|nginx] [--debug]"
                ),
            }
        }
        if plan.root.as_os_str().is_empty() {
            let home = env::var_os("HOME").context("HOME is not set: give --root")?;
            plan.root = Path::new(&home).join(".local");
        }
        plan.root = std::path::absolute(&plan.root)?;
        Ok(plan)
    }
}

/// Builds what is not built, and copies.
pub(crate) fn install(arguments: &[String]) -> Result<()> {
    let plan = Plan::parse(arguments)?;
    setup::wasm_target()?;
    let mut files = vec![(PathBuf::from("bin/sluice"), PathBuf::new())];
    if plan.nginx {
        files.push(("lib/sluice/nginx".into(), setup::nginx()?));
        files.push(("lib/sluice/libngx_sluice.so".into(), build::nginx_module()?));
    } else {
        files.push(("lib/sluice/envoy".into(), setup::envoy()?));
        let module = build::envoy_module()?;
        files.push(("lib/sluice/libsluice_envoy.so".into(), module));
    }
    // The controller carries the filter.
    build::filter()?;
    files[0].1 = build::controller(plan.profile)?;
    let mut step = Step::start(&format!("install in {}", plan.root.display()));
    files
        .iter()
        .try_for_each(|(place, file)| copy(file, &plan.root.join(place)))?;
    plugin(&plan.root)?;
    completions(&mut step, &plan.root)?;
    step.done();
    say(&next(&plan));
    Ok(())
}

/// In place of a file that may be running.
fn copy(file: &Path, place: &Path) -> Result<()> {
    let context = || format!("copy {} to {}", file.display(), place.display());
    let staged = place.with_extension("new");
    let folder = place.parent().with_context(context)?;
    fs::create_dir_all(folder).with_context(context)?;
    fs::copy(file, &staged).with_context(context)?;
    fs::rename(&staged, place).with_context(context)
}

/// `kubectl sluice`: kubectl runs programs of this name.
fn plugin(root: &Path) -> Result<()> {
    let place = root.join("bin/kubectl-sluice");
    let staged = place.with_extension("new");
    let context = || format!("link {}", place.display());
    fs::remove_file(&staged).ok();
    symlink("sluice", &staged).with_context(context)?;
    fs::rename(&staged, &place).with_context(context)
}

fn completions(step: &mut Step, root: &Path) -> Result<()> {
    for (shell, place) in COMPLETIONS {
        let mut command = Command::new(root.join("bin/sluice"));
        let (status, text) = step.capture(command.args(["completions", shell]))?;
        if !status.success() {
            bail!("sluice completions {shell}: {text}");
        }
        let place = root.join(place);
        place.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&place, text).with_context(|| place.display().to_string())?;
    }
    Ok(())
}

/// The command to type, and how to make the shell find it.
fn next(plan: &Plan) -> String {
    let folder = plan.root.join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let mut text = String::from("\n");
    if !env::split_paths(&path).any(|directory| directory == folder) {
        text += &format!("  export PATH=\"{}:$PATH\"\n", folder.display());
    }
    let data_plane = if plan.nginx {
        " --data-plane nginx"
    } else {
        ""
    };
    text + &format!(
        "  sluice run --manifests examples/hello/manifests{data_plane}\n  sluice --help"
    )
}
