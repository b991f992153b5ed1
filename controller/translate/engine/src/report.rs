//! Reports about what could not be honoured, worded so that its owner can act on it.

use std::fmt;

use serde::Serialize;
use sluice_ir::ReasonCode;

use crate::{Kind, ObjectKey, ObjectRef};

/// Severity: how much of what was asked for is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing is missing; good to know.
    Note,
    /// It is served, not quite as asked.
    Warning,
    /// Something is not served.
    Error,
}

impl Severity {
    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Reason why all paths of an Ingress answer 503.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClosedFor {
    /// Access control cannot be enforced.
    AccessControl,
    /// Response headers cannot be set, without which ingress-nginx denies the location.
    ResponseHeaders,
    /// The data plane does not speak the protocol of its pods.
    UpstreamProtocol,
}

/// One thing that is not as its owner wrote it.
///
/// Reads as `Ingress default/shop: spec.rules[0].host: expected a DNS name, got "a b"; rule not served`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Report {
    /// The object at fault.
    pub object: ObjectRef,
    /// Field path, or `annotation NAME`.
    pub field: String,
    /// Severity of the report.
    pub severity: Severity,
    /// Reason, for programs.
    pub code: ReasonCode,
    /// Reason, for people: the expected value and the one found.
    pub reason: String,
    /// Consequence: what happens instead.
    pub consequence: String,
    /// The other object whose absence is the only trouble: it is cured when that one appears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<ObjectRef>,
    /// ingress-nginx does no better: for who comes from there nothing changes.
    #[serde(skip)]
    pub same_as_ingress_nginx: bool,
    /// ingress-nginx's webhook refuses to store it, and so does ours.
    #[serde(skip)]
    pub admission_denied: bool,
    /// It closes all paths of the Ingress that it is about.
    #[serde(skip)]
    pub closed_for: Option<ClosedFor>,
}

impl Report {
    /// A report about what is there itself.
    #[must_use]
    pub fn new(
        object: ObjectRef,
        code: ReasonCode,
        severity: Severity,
        field: impl Into<String>,
        reason: impl Into<String>,
        consequence: impl Into<String>,
    ) -> Self {
        let (field, reason, consequence) = (field.into(), reason.into(), consequence.into());
        Report {
            object,
            field,
            severity,
            code,
            reason,
            consequence,
            missing: None,
            same_as_ingress_nginx: false,
            admission_denied: false,
            closed_for: None,
        }
    }

    /// Severity and words for who comes from ingress-nginx.
    #[must_use]
    pub fn compared(&self) -> (Severity, String) {
        let reason = &self.reason;
        match self.same_as_ingress_nginx && self.severity > Severity::Note {
            true => (
                Severity::Note,
                format!("{reason}; ingress-nginx does not honour it either"),
            ),
            false => (self.severity, format!("{reason}; {}", self.consequence)),
        }
    }
}

/// The reason why all paths of an Ingress answer 503, by the reports about it; `None`: it may be access control.
pub fn why_closed<'r>(reports: impl IntoIterator<Item = &'r Report>) -> Option<&'r str> {
    let mut closing = reports.into_iter().filter(|it| it.closed_for.is_some());
    let is_other = |report: &Report| report.closed_for != Some(ClosedFor::AccessControl);
    let first = closing.next()?;
    (is_other(first) && closing.all(is_other)).then_some(first.reason.as_str())
}

/// Path in its object of a field that a report names; `prefix`: of annotations, without the slash.
#[must_use]
pub fn field_path(field: &str, prefix: &str) -> String {
    match field.strip_prefix("annotation ") {
        None => field.to_owned(),
        Some(key) if key.contains('/') => format!("metadata.annotations.{key}"),
        Some(name) => format!("metadata.annotations.{prefix}/{name}"),
    }
}

/// Cause of a report: its code, its text, and the object that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// As in a report.
    pub code: ReasonCode,
    /// As in a report.
    pub reason: String,
    /// The object that is missing, if that is the cause.
    pub missing: Option<ObjectRef>,
}

impl Cause {
    /// A cause with this code.
    pub fn new(code: ReasonCode, reason: impl Into<String>) -> Self {
        Cause {
            code,
            reason: reason.into(),
            missing: None,
        }
    }

    /// A reference to an object that is not as it has to be.
    pub fn invalid_ref(reason: impl Into<String>) -> Self {
        Cause::new(ReasonCode::InvalidRef, reason)
    }

    /// A reference to an object that does not exist.
    #[must_use]
    pub fn missing(kind: Kind, key: ObjectKey) -> Self {
        let missing = ObjectRef { kind, key };
        Cause {
            code: ReasonCode::RefNotFound,
            reason: missing.absence(),
            missing: Some(missing),
        }
    }
}

/// A text alone is about an invalid value.
impl<T: Into<String>> From<T> for Cause {
    fn from(reason: T) -> Self {
        Cause::new(ReasonCode::InvalidValue, reason)
    }
}

/// [`CLOSED`], for constants that say more.
#[macro_export]
macro_rules! closed_text {
    () => {
        "access control cannot be enforced; affected paths answer 503"
    };
}

/// Consequence of access control that cannot be enforced.
pub const CLOSED: &str = closed_text!();

/// [`CLOSED`], with the affected paths.
pub fn closed(which: impl fmt::Display) -> String {
    format!("{CLOSED}: {which}")
}

/// Others that one report names.
const NAMED: usize = 3;

/// The first of `count` others, and how many more there are. Where each of many owners hears of all the others, texts that named all of
/// them would grow with the square.
pub fn listed(others: impl Iterator<Item: fmt::Display>, count: usize) -> String {
    let named: Vec<String> = others.take(NAMED).map(|other| other.to_string()).collect();
    let named = named.join(", ");
    match count.saturating_sub(NAMED) {
        0 => named,
        1 => format!("{named} and 1 other"),
        more => format!("{named} and {more} others"),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}: {}; {}",
            self.object, self.field, self.reason, self.consequence
        )
    }
}

/// Collects the reports about one object.
#[derive(Debug)]
pub struct Reporter<'a> {
    object: ObjectRef,
    reports: &'a mut Vec<Report>,
}

impl<'a> Reporter<'a> {
    /// A reporter about an object.
    pub fn new(object: ObjectRef, reports: &'a mut Vec<Report>) -> Self {
        Reporter { object, reports }
    }

    /// The object.
    #[must_use]
    pub fn object(&self) -> &ObjectRef {
        &self.object
    }

    /// Returns true if there is a report about the field.
    #[must_use]
    pub fn is_reported(&self, field: &str) -> bool {
        let mut reports = self.reports.iter();
        reports.any(|report| report.field == field && report.object == self.object)
    }

    /// Adds a report.
    pub fn report(
        &mut self,
        code: ReasonCode,
        severity: Severity,
        field: impl Into<String>,
        reason: impl Into<String>,
        consequence: impl Into<String>,
    ) -> &mut Report {
        self.reports.push_mut(Report::new(
            self.object.clone(),
            code,
            severity,
            field,
            reason,
            consequence,
        ))
    }

    /// Warns of what ingress-nginx does not honour either.
    pub fn warn_unchanged(
        &mut self,
        code: ReasonCode,
        field: impl Into<String>,
        reason: impl Into<String>,
        consequence: impl Into<String>,
    ) {
        self.report(code, Severity::Warning, field, reason, consequence)
            .same_as_ingress_nginx = true;
    }

    /// Says that an object that is named does not exist (yet).
    pub fn report_missing(
        &mut self,
        missing: ObjectRef,
        severity: Severity,
        field: impl Into<String>,
        consequence: impl Into<String>,
    ) {
        let reason = missing.absence();
        self.report(
            ReasonCode::RefNotFound,
            severity,
            field,
            reason,
            consequence,
        )
        .missing = Some(missing);
    }
}
