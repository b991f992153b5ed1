//! The command `sluice lint`: reads a source, and prints the findings of [`sluice_lint`].

mod cluster;

use std::process::ExitCode;

use sluice_kube::is_in_cluster;
use sluice_lint::{Extent, examine, write};
use sluice_source::read_once;
use sluice_translate::{AddressPolicy, Options};

use crate::args::{Lint, ObjectSource};
use crate::options;

/// Reads, judges, prints. The exit code is 1 when something does not work at all.
pub(crate) fn lint(args: &Lint) -> anyhow::Result<ExitCode> {
    let options = options::translation(&args.translation, &args.listeners, []);
    let options = Options {
        data_plane: Some(args.data_plane.serving()),
        ..options
    };
    let findings = match args.source.origin(is_in_cluster())? {
        ObjectSource::Files(path) => {
            // Old manifests name no class; what their owner wants to know is what becomes of the rest. A hint says it.
            examine(
                read_once(&path)?,
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
