//! The command `sluice lint`: reads a source, and prints the findings of [`sluice_lint`].

mod cluster;

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use sluice_kube::is_in_cluster;
use sluice_lint::{Extent, examine, write};
use sluice_source::{Event, read_once};
use sluice_translate::{AddressPolicy, Options};

use crate::args::{Lint, ObjectSource};
use crate::options;

/// Objects of a file or a folder that has some: all would be well with a mistyped path.
fn manifests(folder: &Path) -> anyhow::Result<Vec<Event>> {
    if !folder.exists() {
        bail!("--manifests {}: no such file or folder", folder.display());
    }
    let events = read_once(folder)?;
    let is_content = |event: &Event| matches!(event, Event::Apply(_) | Event::Problem(_));
    if !events.iter().any(is_content) {
        bail!(
            "--manifests {}: no manifests in it (*.yaml, *.yml, *.json)",
            folder.display()
        );
    }
    Ok(events)
}

/// Reads, judges, prints. The exit code is 1 when something does not work at all.
pub(crate) fn lint(args: &Lint) -> anyhow::Result<ExitCode> {
    let options = options::translation(&args.translation, &args.listeners, []);
    let options = Options {
        data_plane: Some(args.data_plane.serving()),
        ..options
    };
    let findings = match args.source.origin(is_in_cluster())? {
        ObjectSource::Files(path) => {
            let manifests = manifests(&path)?;
            // Old manifests name no class; what their owner wants to know is what becomes of the rest. A hint says it.
            examine(
                manifests,
                &Options {
                    watch_ingress_without_class: true,
                    ..options
                },
                Extent::Part,
            )
        }
        ObjectSource::Kube => {
            let addresses = AddressPolicy {
                written_loopback: false,
                ..options.addresses
            };
            let options = Options {
                class_is_implied: false,
                addresses,
                ..options
            };
            examine(
                cluster::read(&args.source, &options)?,
                &options,
                Extent::Whole,
            )
        }
    };
    crate::output::print(&write(&findings, args.output))?;
    Ok(if findings.is_fatal() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
