//! `sluice lint`: what would become of each Ingress, in words, before anything is switched over.
//!
//! ```text
//!   manifests, cluster --read--> Resources --translate--> reports --+--> Finding (one an Ingress) --> table, JSON, Markdown
//!                                    \------ hints ----------------/
//! ```
//!
//! The reports are those of the translation that serves; lint adds only what is no fault (hints), and does not count
//! against an Ingress that something it names is not in the folder: Services and Secrets often live elsewhere.

mod cluster;
mod finding;
mod hints;
mod output;

use std::process::ExitCode;

use sluice_translate::{AddressPolicy, Object, Options, Resources};

use crate::args::{Lint, Origin};
use crate::options;
use finding::Findings;
use sluice_kube::is_in_cluster;
use sluice_source::{Event, Problem, read_once};

/// Reads, judges, prints. The exit code is 1 when something does not work at all.
pub(crate) fn lint(args: &Lint) -> anyhow::Result<ExitCode> {
    let options = options::translation(&args.translation, &args.listeners, []);
    let options = Options {
        data_plane: Some(args.data_plane.serving()),
        ..options
    };
    let findings = match args.source.origin(is_in_cluster())? {
        Origin::Files(path) => {
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
        Origin::Kube => {
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
    crate::output::print(&output::write(&findings, args.output))?;
    Ok(if findings.summary().is_fatal() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// How much of what there is has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// A folder: what it leaves out may well be in the cluster.
    Part,
    /// A cluster.
    Whole,
}

/// Checks everything that a source contains.
fn examine(events: Vec<Event>, options: &Options, extent: Extent) -> Findings {
    let mut resources = Resources::default();
    let mut ingresses = Vec::new();
    let mut documents: Vec<Problem> = Vec::new();
    for event in events {
        match event {
            Event::Apply(object) => {
                if let Object::Ingress(ingress) = &object {
                    ingresses.push(ingress.as_ref().clone());
                }
                resources.apply(object);
            }
            Event::Problem(problem) => documents.push(problem),
            Event::IngressClassesForbidden => resources.forbid_ingress_classes(),
            Event::Machines(addresses) => drop(resources.know_machines(addresses)),
            Event::Delete(..) | Event::Ready => {}
        }
    }
    documents.sort();
    Findings {
        documents,
        ..Findings::of(&resources, options, &ingresses, extent)
    }
}

#[cfg(test)]
mod tests;
