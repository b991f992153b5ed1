//! The command `sluice lint`: reads a source, and prints the findings of [`sluice_lint`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use sluice_kube::is_in_cluster;
use sluice_lint::{Extent, Findings, Output, examine, write};
use sluice_source::{Input, read_inputs};
use sluice_translate::Options;

use crate::args::{Lint, ObjectSource};
use crate::{cluster_events, options, output};

/// Reads, judges, prints. The exit code is 1 when something is as bad as `--fail-on` says.
pub(crate) fn lint(args: &Lint) -> anyhow::Result<ExitCode> {
    let findings = findings(args)?;
    let colours = args.output == Output::Table && args.color.are_used();
    let text = write(&findings, args.output, colours);
    output::print(&text)?;
    Ok(match findings.fail(args.fail_on) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn findings(args: &Lint) -> anyhow::Result<Findings> {
    let options = options::translation(&args.translation, &args.listeners, []);
    let options = Options {
        data_plane: Some(args.data_plane.serving()),
        ..options
    };
    match args.inputs()? {
        Some(paths) => of_manifests(&paths, options),
        None => of_cluster(args, options),
    }
}

/// Output without colours.
#[cfg(test)]
pub(crate) fn text(args: &Lint) -> anyhow::Result<String> {
    Ok(write(&findings(args)?, args.output, false))
}

impl Lint {
    /// Files and folders to check; `None`: a cluster.
    fn inputs(&self) -> anyhow::Result<Option<Vec<PathBuf>>> {
        if self.paths.is_empty() {
            let has_source = self.source.source.is_some() || self.source.manifests.is_some();
            return match self.source.origin(is_in_cluster()) {
                Ok(ObjectSource::Files(folder)) => Ok(Some(vec![folder])),
                Ok(ObjectSource::Kube) => Ok(None),
                Err(error) if has_source => Err(error),
                Err(_) => bail!("nothing to check: give a PATH, or --source kube for a cluster"),
            };
        }
        if self.source.names_a_cluster() {
            bail!(
                "PATH cannot be combined with a cluster (--source kube, --kubeconfig, --apiserver-host)"
            );
        }
        let paths = self.source.manifests.iter().chain(&self.paths);
        Ok(Some(paths.cloned().collect()))
    }
}

fn of_manifests(paths: &[PathBuf], options: Options) -> anyhow::Result<Findings> {
    let folder = std::env::current_dir().ok();
    let inputs = paths.iter().map(|path| input(path, folder.as_deref()));
    let reading = read_inputs(&inputs.collect::<Vec<_>>())?;
    // Old manifests name no class; what their owner wants to know is what becomes of the rest. A hint says it.
    let options = Options {
        watch_ingress_without_class: true,
        ..options
    };
    Ok(examine(reading, &options, Extent::Part))
}

/// Below the current folder, paths are relative: that of a report is then that of a repository.
fn input(path: &Path, folder: Option<&Path>) -> Input {
    if path.as_os_str() == OsStr::new("-") {
        return Input::Stdin;
    }
    let inner = folder.and_then(|folder| path.strip_prefix(folder).ok());
    Input::Path(inner.unwrap_or(path).to_owned())
}

fn of_cluster(args: &Lint, options: Options) -> anyhow::Result<Findings> {
    let options = options::of_a_cluster(options);
    let events = cluster_events::read(&args.source, &options)?;
    Ok(examine(events.into(), &options, Extent::Whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_current_folder_are_relative() {
        for (path, expected) in [
            ("/repo/a/b.yaml", "a/b.yaml"),
            ("/other/b.yaml", "/other/b.yaml"),
            ("b.yaml", "b.yaml"),
        ] {
            let found = input(Path::new(path), Some(Path::new("/repo")));
            assert_eq!(found, Input::Path(expected.into()));
        }
        assert_eq!(input(Path::new("-"), None), Input::Stdin);
    }
}
