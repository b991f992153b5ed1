//! One verdict an Ingress, from what the translation reports about it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sluice_ir::Action;
use sluice_source::{Location, Places, Problem};
use sluice_translate::{
    Ingress, Kind, ObjectKey, ObjectRef, Options, Report, Resources, Severity, Snapshot, is_ours,
    translate,
};

use super::absent::translate_as_if_there;
use super::nginx_renderer::ClosedRoutes;
use super::remark::Remark;
use super::{Extent, FailOn, hints};

/// Verdict about an Ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// It works as it did.
    Unchanged,
    /// It works, not quite as it did; the remarks say where.
    Differences,
    /// Nothing of it is served.
    NotAtAll,
    /// It is of another class, and left to its controller.
    OtherClass,
    /// Its namespace is not watched (`--watch-namespace`).
    NotWatched,
}

impl Verdict {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Verdict::Unchanged => "works unchanged",
            Verdict::Differences => "works with differences",
            Verdict::NotAtAll => "does not work",
            Verdict::OtherClass => "of another class",
            Verdict::NotWatched => "in a namespace that is not watched",
        }
    }

    /// Of so many.
    pub(crate) fn words_of(self, count: usize) -> &'static str {
        match self {
            Verdict::Unchanged if count != 1 => "work unchanged",
            Verdict::Differences if count != 1 => "work with differences",
            Verdict::NotAtAll if count != 1 => "do not work",
            one => one.words(),
        }
    }
}

/// Everything that is known about one Ingress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    #[serde(serialize_with = "as_text")]
    pub(crate) ingress: ObjectKey,
    #[serde(flatten)]
    pub(crate) location: Option<Location>,
    pub(crate) verdict: Verdict,
    /// One of its paths answers 503 because its access control cannot be enforced.
    pub(crate) closed: bool,
    /// The worst first.
    pub(crate) remarks: Vec<Remark>,
}

fn as_text<S: serde::Serializer>(
    name: &impl std::fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

/// Remarks about an object that is no Ingress: the ConfigMap of the controller, the Services of TCP and UDP ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ObjectFinding {
    #[serde(serialize_with = "as_text")]
    pub(crate) object: ObjectRef,
    #[serde(flatten)]
    pub(crate) location: Option<Location>,
    /// The worst first.
    pub(crate) remarks: Vec<Remark>,
}

/// How many Ingresses come out how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) unchanged: usize,
    pub(crate) differences: usize,
    pub(crate) not_at_all: usize,
    pub(crate) other_class: usize,
    pub(crate) not_watched: usize,
    /// Ingresses with paths that answer 503.
    pub(crate) closed: usize,
    /// Objects beside Ingresses with settings that do not work.
    pub(crate) settings: usize,
    /// Documents that should be objects and are not.
    pub(crate) unreadable: usize,
    /// Objects that are not checked, because others have their names.
    pub(crate) duplicates: usize,
}

/// Result of `sluice lint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    pub(crate) settings: Vec<ObjectFinding>,
    pub(crate) ingresses: Vec<Finding>,
    pub(crate) documents: Vec<Problem>,
    pub(crate) extent: Extent,
}

/// Severity of a problem.
pub(crate) fn severity(problem: &Problem) -> Severity {
    match problem.harmless {
        true => Severity::Note,
        false => Severity::Error,
    }
}

impl Findings {
    pub(super) fn new(
        resources: &Resources,
        options: &Options,
        ingresses: &[Ingress],
        extent: Extent,
    ) -> Self {
        let (translation, absences) = match extent {
            Extent::Part => translate_as_if_there(resources, options),
            Extent::Whole => (translate(resources, options), Vec::new()),
        };
        let snapshot = translation.snapshot();
        let closed_by_nginx = ClosedRoutes::new(&snapshot, options);
        let of_nginx = closed_by_nginx.reports();
        let all = translation.reports().into_iter();
        let all: Vec<&Report> = all.chain(&absences).chain(&of_nginx).collect();
        // Of settings that close everything, Ingresses have no reports of their own.
        let outcome = Outcome {
            served: served(&snapshot, &closed_by_nginx),
            closed: closed(&snapshot, &closed_by_nginx),
            all_closed: all.iter().any(|report| closes_all(report, extent)),
        };
        let (mut reports, mut settings) = by_object(all, extent);
        let mut findings: BTreeMap<ObjectKey, Finding> = BTreeMap::new();
        for ingress in ingresses {
            let key = ingress.key();
            let reports = reports.remove(&key).unwrap_or_default();
            let mut finding = Finding::from_reports(ingress, &reports, &outcome, extent, options);
            if let Some(remark) = hints::about_namespace(ingress, options) {
                finding.verdict = Verdict::NotWatched;
                finding.remarks = vec![remark];
            } else {
                finding.judge(ingress, resources, options, &outcome);
            }
            findings.insert(key, finding);
        }
        for (object, hint) in hints::about_config_maps(resources, options) {
            settings.entry(object).or_default().push(hint);
        }
        let settings = settings.into_iter().map(|(object, mut remarks)| {
            sort(&mut remarks);
            ObjectFinding {
                object,
                location: None,
                remarks,
            }
        });
        Findings {
            settings: settings.collect(),
            ingresses: findings.into_values().collect(),
            documents: Vec::new(),
            extent,
        }
    }

    /// Says of everything where it is written.
    pub(super) fn locate(&mut self, places: &Places, prefix: &str) {
        for finding in &mut self.settings {
            finding.location = places.find(&finding.object, "");
            locate(&mut finding.remarks, &finding.object, places, prefix);
        }
        for finding in &mut self.ingresses {
            let object = ObjectRef {
                kind: Kind::Ingress,
                key: finding.ingress.clone(),
            };
            finding.location = places.find(&object, "");
            locate(&mut finding.remarks, &object, places, prefix);
        }
    }

    /// True if there is something of this severity, or worse.
    #[must_use]
    pub fn fail(&self, on: FailOn) -> bool {
        let summary = self.summary();
        let has_failed = summary.not_at_all + summary.closed > 0
            || self.documents.iter().any(|problem| !problem.harmless);
        let remarks = self.ingresses.iter().flat_map(|finding| &finding.remarks);
        let settings = self.settings.iter().flat_map(|finding| &finding.remarks);
        let worst = remarks.chain(settings).map(|remark| remark.severity).max();
        match on {
            FailOn::Never => false,
            FailOn::Error => has_failed || worst >= Some(Severity::Error),
            FailOn::Warning => has_failed || worst >= Some(Severity::Warning),
            FailOn::Note => has_failed || worst.is_some() || !self.documents.is_empty(),
        }
    }

    pub(crate) fn summary(&self) -> Summary {
        let count = |verdict| {
            self.ingresses
                .iter()
                .filter(|finding| finding.verdict == verdict)
                .count()
        };
        Summary {
            unchanged: count(Verdict::Unchanged),
            differences: count(Verdict::Differences),
            not_at_all: count(Verdict::NotAtAll),
            other_class: count(Verdict::OtherClass),
            not_watched: count(Verdict::NotWatched),
            closed: self.ingresses.iter().filter(|one| one.closed).count(),
            settings: self
                .settings
                .iter()
                .filter(|finding| finding.remarks.iter().any(Remark::is_error))
                .count(),
            unreadable: self
                .documents
                .iter()
                .filter(|problem| !problem.harmless && !problem.is_duplicate || problem.is_foreign)
                .count(),
            duplicates: self
                .documents
                .iter()
                .filter(|problem| !problem.harmless && problem.is_duplicate)
                .count(),
        }
    }
}

/// Result of the translation, for all Ingresses.
struct Outcome {
    served: BTreeSet<ObjectKey>,
    closed: BTreeSet<ObjectKey>,
    /// A setting of the operator closes every path.
    all_closed: bool,
}

impl Finding {
    fn from_reports(
        ingress: &Ingress,
        reports: &[&Report],
        outcome: &Outcome,
        extent: Extent,
        options: &Options,
    ) -> Self {
        let key = ingress.key();
        let (elsewhere, here): (Vec<&Report>, Vec<&Report>) = reports
            .iter()
            .partition(|report| is_elsewhere(report, extent));
        // Whatever closes is open when what is missing here is in the cluster.
        let opens = !elsewhere.is_empty()
            && !outcome.all_closed
            && here.iter().all(|report| report.severity < Severity::Error);
        let closed = outcome.closed.contains(&key) && !opens;
        let changes = here.iter().filter(|report| !report.same_as_ingress_nginx);
        let verdict = match changes.map(|report| report.severity).max() {
            None if !closed => Verdict::Unchanged,
            Some(Severity::Error) if !outcome.served.contains(&key) => Verdict::NotAtAll,
            _ => Verdict::Differences,
        };
        // Many paths may name the same object; once is enough.
        let mut missing = BTreeSet::new();
        let said = reports
            .iter()
            .filter(|report| report.missing.iter().all(|object| missing.insert(object)));
        let mut remarks: Vec<Remark> = said.map(|report| Remark::new(report, extent)).collect();
        let is_said = |hint: &Remark| remarks.iter().any(|remark| remark.field == hint.field);
        let hints: Vec<Remark> = hints::about(ingress, &options.annotations_prefix)
            .into_iter()
            .filter(|hint| !is_said(hint))
            .collect();
        remarks.extend(hints);
        sort(&mut remarks);
        Finding {
            closed,
            ingress: key,
            location: None,
            verdict,
            remarks,
        }
    }

    /// Adds remarks that its own reports do not have.
    fn judge(
        &mut self,
        ingress: &Ingress,
        resources: &Resources,
        options: &Options,
        outcome: &Outcome,
    ) {
        let is_closed = outcome.all_closed && self.closed;
        let prefix = &options.annotations_prefix;
        self.remarks
            .extend(hints::about_passthrough(ingress, options));
        if !is_ours(ingress, resources, options) {
            self.verdict = Verdict::OtherClass;
            self.remarks.extend(hints::about_class(ingress, prefix));
        } else if (is_closed || self.verdict < Verdict::NotAtAll)
            && let Some(remark) = Remark::nothing_served(ingress, is_closed)
        {
            self.verdict = Verdict::NotAtAll;
            self.remarks.insert(0, remark);
        }
    }
}

/// True of what is expected in the cluster.
fn is_elsewhere(report: &Report, extent: Extent) -> bool {
    report.missing.is_some() && extent == Extent::Part
}

/// True of a setting that closes the paths of all Ingresses.
fn closes_all(report: &Report, extent: Extent) -> bool {
    let is_of_operator = report.object.kind != Kind::Ingress;
    is_of_operator && report.closed_for.is_some() && !is_elsewhere(report, extent)
}

type ByIngress<'a> = BTreeMap<ObjectKey, Vec<&'a Report>>;
type ByObject = BTreeMap<ObjectRef, Vec<Remark>>;

/// Reports on each Ingress, and remarks on each other object.
fn by_object(reports: Vec<&Report>, extent: Extent) -> (ByIngress<'_>, ByObject) {
    let (mut of_ingresses, mut others) = (ByIngress::new(), ByObject::new());
    for report in reports {
        let object = &report.object;
        if object.kind == Kind::Ingress {
            let reports = of_ingresses.entry(object.key.clone()).or_default();
            reports.push(report);
        } else {
            let remarks = others.entry(object.clone()).or_default();
            remarks.push(Remark::new(report, extent));
        }
    }
    (of_ingresses, others)
}

fn locate(remarks: &mut [Remark], object: &ObjectRef, places: &Places, prefix: &str) {
    for remark in remarks {
        remark.location = places.find(object, &remark.path(prefix));
    }
}

fn sort(remarks: &mut Vec<Remark>) {
    remarks.sort_by(|a, b| (b.severity, &a.field, &a.text).cmp(&(a.severity, &b.field, &b.text)));
    remarks.dedup();
}

/// The Ingresses that have a route which lets requests through.
fn served(snapshot: &Snapshot, by_nginx: &ClosedRoutes) -> BTreeSet<ObjectKey> {
    let routes = snapshot.config().routes();
    routes
        .filter(|route| !by_nginx.contains(&route.id))
        .filter(|route| !matches!(route.action, Action::Denied | Action::Respond(_)))
        .filter_map(|route| snapshot.owner(&route.id).cloned())
        .collect()
}

/// The Ingresses that have a route which is closed.
fn closed(snapshot: &Snapshot, by_nginx: &ClosedRoutes) -> BTreeSet<ObjectKey> {
    let routes = snapshot.config().routes();
    routes
        .filter(|route| matches!(route.action, Action::Denied) || by_nginx.contains(&route.id))
        .filter_map(|route| snapshot.owner(&route.id).cloned())
        .collect()
}
