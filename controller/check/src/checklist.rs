//! Results: sections of checks.

use std::collections::BTreeMap;

use serde::Serialize;

/// Result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should be.
    Ok,
    /// It works, but not as it should, or it could not be checked.
    Warning,
    /// Something does not work.
    Failure,
}

/// Part of an installation, in the order in which its parts depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Section {
    /// The API server.
    KubernetesApi,
    /// RBAC.
    Rights,
    /// IngressClasses.
    IngressClass,
    /// Admission.
    Webhook,
    /// Pods of the controller.
    Controller,
    /// Envoys, or nginx.
    DataPlanes,
    /// Certificates of Sluice and of hosts.
    Certificates,
    /// Ingresses, and what became of them.
    Configuration,
}

impl Section {
    /// The title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Section::KubernetesApi => "kubernetes-api",
            Section::Rights => "rights",
            Section::IngressClass => "ingress-class",
            Section::Webhook => "webhook",
            Section::Controller => "controller",
            Section::DataPlanes => "data-planes",
            Section::Certificates => "certificates",
            Section::Configuration => "configuration",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its result.
    pub status: Status,
    /// The finding.
    pub message: String,
    /// Advice; empty if there is nothing to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

/// All checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checklist {
    sections: BTreeMap<Section, Vec<Check>>,
}

impl Checklist {
    /// The worst result.
    #[must_use]
    pub fn status(&self) -> Status {
        let all = self.sections.values().flatten();
        all.map(|check| check.status).max().unwrap_or(Status::Ok)
    }

    /// The sections that have checks, in order.
    pub fn sections(&self) -> impl Iterator<Item = (Section, &[Check])> {
        let all = self.sections.iter();
        all.map(|(section, checks)| (*section, checks.as_slice()))
    }

    pub(crate) fn ok(&mut self, section: Section, message: impl Into<String>) {
        self.add(section, Status::Ok, message.into(), String::new());
    }

    pub(crate) fn warning(
        &mut self,
        section: Section,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.add(section, Status::Warning, message.into(), advice.into());
    }

    pub(crate) fn failure(
        &mut self,
        section: Section,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.add(section, Status::Failure, message.into(), advice.into());
    }

    /// Something could not be read: nothing is known to be wrong.
    pub(crate) fn unread(&mut self, section: Section, what: &str, error: &str) {
        self.warning(
            section,
            format!("{what} could not be read: {error}"),
            "run it with an account that may read it; until then nothing is known of it",
        );
    }

    fn add(&mut self, section: Section, status: Status, message: String, advice: String) {
        let check = Check {
            status,
            message,
            advice,
        };
        self.sections.entry(section).or_default().push(check);
    }
}
