//! Verdicts about Ingresses before a migration: works unchanged, with differences, or not at all.
//!
//! ```text
//!   manifests, cluster --read--> Resources --translate--> reports --+--> Finding (one per Ingress) --> table, JSON, Markdown
//!                                    \------ hints ----------------/
//! ```
//!
//! The reports are those of the translation that serves. Lint only adds hints about valid manifests, and does not count
//! missing Services and Secrets against an Ingress if only a directory was read: they often live elsewhere.

mod finding;
mod hints;
mod output;
mod remark;

use clap::ValueEnum;
use sluice_source::{Event, Problem};
use sluice_translate::{Object, Options, Resources};

pub use finding::Findings;
pub use output::write;

/// Output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Table for a terminal.
    #[default]
    Table,
    /// JSON.
    Json,
    /// Markdown.
    Markdown,
}

/// Completeness of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A directory: missing objects may well be in the cluster.
    Part,
    /// A cluster.
    Whole,
}

/// Checks everything that a source contains.
pub fn examine(events: Vec<Event>, options: &Options, extent: Extent) -> Findings {
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
        ..Findings::new(&resources, options, &ingresses, extent)
    }
}

#[cfg(test)]
mod tests;
