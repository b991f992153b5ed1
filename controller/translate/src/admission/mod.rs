//! Admission: the webhook's decision about one Ingress.
//!
//! ```text
//!   Ingress --rules.rs--> refused in words              (what it says by itself)
//!      |----overlap.rs--> refused in words              (a path that another Ingress has)
//!      +--translate it with its neighbours--> reports   (what serving it would report: errors refuse, the rest warns)
//! ```
//!
//! A pure function of the Ingress and the cache: nothing is written, started or called. It costs what the Ingress and
//! those that share its paths cost, however many others there are.
//!
//! Something that is missing (a Service, a Secret) only warns: it may come a moment later, with the next manifest.

mod overlap;
mod rules;

use std::collections::BTreeSet;

use sluice_translate_engine::{
    Ingress, Kind, ObjectKey, ObjectRef, Report, Seniority, Severity, age,
};

use crate::annotations::CATALOGUES;
use crate::claims::paths;
use crate::global::Globals;
use crate::translate::translate_these;
use crate::{Options, Resources, is_ours};

pub use rules::Rules;

/// Neighbours on one path that are looked at: R5 of the security rules.
const MAX_NEIGHBOURS: usize = 32;

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Why it is refused; let in when there is nothing.
    pub errors: Vec<String>,
    /// Warnings for its owner.
    pub warnings: Vec<String>,
    /// Number of Ingresses that were read.
    pub looked_at: usize,
    /// Size of their configuration as JSON.
    pub config_bytes: usize,
}

impl Admission {
    /// True if the Ingress is admitted.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.errors.is_empty()
    }

    fn refused(error: String) -> Self {
        Admission {
            errors: vec![error],
            ..Admission::default()
        }
    }
}

/// Judges an Ingress that is about to be created or updated. The order of the checks is ingress-nginx's.
#[must_use]
pub fn admit(
    ingress: &Ingress,
    resources: &Resources,
    options: &Options,
    rules: &Rules,
) -> Admission {
    if ingress.is_being_deleted {
        return Admission::default();
    }
    // Even of another class: its text might reach a proxy all the same.
    if let Some(error) = rules
        .deep_inspect
        .then(|| rules::inspect(ingress))
        .flatten()
    {
        return Admission::refused(error);
    }
    if !is_ours(ingress, resources, options) {
        return Admission::default();
    }
    let mut admission = Admission::default();
    let globals = Globals::read(&resources.cluster, options, CATALOGUES, &mut Vec::new());
    rules::check(ingress, globals.trust.admission, &mut admission);
    admission
        .errors
        .extend(overlap::find(ingress, resources, options));
    translate_with_neighbours(ingress, resources, options, &mut admission);
    admission
}

/// The order in which Ingresses are read once this one is stored. One that is not stored yet is the youngest, though the
/// API server gives it the time of this second, in which others may have been created.
fn seniority(ingress: &Ingress, resources: &Resources) -> Seniority {
    (
        !resources.ingresses.contains_key(&ingress.key()),
        age(ingress),
    )
}

fn translate_with_neighbours(
    ingress: &Ingress,
    resources: &Resources,
    options: &Options,
    admission: &mut Admission,
) {
    let key = ingress.key();
    let mut ingresses: Vec<&Ingress> = neighbours(&key, ingress, resources)
        .into_iter()
        .filter_map(|key| resources.ingresses.get(key).map(AsRef::as_ref))
        .filter(|neighbour| is_ours(neighbour, resources, options))
        .collect();
    ingresses.push(ingress);
    ingresses.sort_by_cached_key(|ingress| seniority(ingress, resources));
    admission.looked_at = ingresses.len();
    let ingresses = ingresses
        .into_iter()
        .map(|ingress| (seniority(ingress, resources), ingress));
    let translation = translate_these(ingresses, resources, options);
    admission.config_bytes = serde_json::to_vec(translation.config()).map_or(0, |text| text.len());
    let object = ObjectRef {
        kind: Kind::Ingress,
        key,
    };
    let own: Vec<&Report> = translation.routing_reports().collect();
    let all = translation.reports();
    for report in all.into_iter().filter(|report| report.object == object) {
        match report.severity {
            _ if report.admission_denied => admission.errors.push(report.to_string()),
            Severity::Error if report.missing.is_none() && own.contains(&report) => {
                admission.errors.push(report.to_string());
            }
            Severity::Error | Severity::Warning => admission.warnings.push(in_short(report)),
            Severity::Note => {}
        }
    }
}

/// The Ingress is named where a warning is shown.
fn in_short(report: &Report) -> String {
    let Report {
        field,
        reason,
        consequence,
        ..
    } = report;
    format!("{field}: {reason}; {consequence}")
}

/// Those whose translation can depend on this one, or the other way round: who is first on a host, and who shares a path.
fn neighbours<'a>(
    own: &ObjectKey,
    ingress: &Ingress,
    resources: &'a Resources,
) -> BTreeSet<&'a ObjectKey> {
    let claims = resources.claims();
    let mut neighbours = BTreeSet::new();
    for (host, path) in paths(ingress).collect::<BTreeSet<_>>() {
        neighbours.extend(claims.oldest_of_host(&host));
        neighbours.extend(claims.of_path(&host, &path).take(MAX_NEIGHBOURS));
    }
    neighbours.remove(own);
    neighbours
}

#[cfg(test)]
mod tests;
