//! Verdicts about Ingresses before a migration: works unchanged, with differences, or not at all.
//!
//! ```text
//!   manifests, cluster --read--> Resources --translate--> reports --+--> Finding (one per Ingress) --> table, JSON, SARIF, ...
//!            |                       \------ hints ----------------/        |
//!            +------Places: the file and the line of each field-------------+
//! ```
//!
//! The reports are those of the translation that serves. Lint only adds hints about valid manifests, and does not count
//! missing Services and Secrets against an Ingress if only a directory was read: they often live elsewhere.

mod absent;
mod finding;
mod hints;
mod nginx_renderer;
mod output;
mod remark;
mod results;

use clap::ValueEnum;
use sluice_source::{Collected, Reading};
use sluice_translate::{Object, Options};

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
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Workflow commands of GitHub Actions.
    Github,
}

/// Severity from which on a check fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// There is an error: an Ingress does not work at all, one of its paths answers 503, a setting has a value that cannot be served, or a
    /// document cannot be read or is hidden by another of the same name.
    #[default]
    Error,
    /// The same, or there is a warning; notes do not count.
    Warning,
    /// There is any remark.
    Note,
    /// Nothing.
    Never,
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
pub fn examine(reading: Reading, options: &Options, extent: Extent) -> Findings {
    let Collected {
        resources,
        ingresses,
        problems,
    } = reading.events.into_iter().collect();
    let ingresses: Vec<_> = ingresses
        .into_iter()
        .filter_map(|object| match object {
            Object::Ingress(ingress) => Some(ingress.as_ref().clone()),
            _ => None,
        })
        .collect();
    let mut findings = Findings::new(&resources, options, &ingresses, extent);
    findings.locate(&reading.places, &options.annotations_prefix);
    findings.documents = problems;
    findings
}

#[cfg(test)]
mod tests;
