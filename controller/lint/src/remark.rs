//! Remarks about an object.

use serde::Serialize;
use sluice_ir::ReasonCode;
use sluice_source::Location;
use sluice_translate::{Ingress, Report, Severity, field_path};

use super::Extent;

/// One sentence about an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Remark {
    pub(crate) severity: Severity,
    /// Reason code of the report; hints have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<ReasonCode>,
    pub(crate) field: String,
    pub(crate) text: String,
    #[serde(flatten)]
    pub(crate) location: Option<Location>,
}

impl Remark {
    /// The path of its field in the object; `prefix`: of annotations, without the slash.
    pub(crate) fn path(&self, prefix: &str) -> String {
        field_path(&self.field, prefix)
    }

    /// The remark for an Ingress of which nothing is served and no report says why; `is_closed`: the operator's settings close
    /// its paths.
    pub(crate) fn nothing_served(ingress: &Ingress, is_closed: bool) -> Option<Self> {
        let spec = ingress.spec.as_ref();
        let is_empty =
            spec.is_none_or(|spec| spec.rules.is_none() && spec.default_backend.is_none());
        let text = match (is_empty, is_closed) {
            (true, _) => "expected rules or a default backend, got neither; nothing to serve",
            (false, true) => {
                "its paths answer 503, because access control in the ConfigMap or the flags cannot be enforced"
            }
            (false, false) => return None,
        };
        Some(Remark {
            severity: Severity::Error,
            code: None,
            field: "spec".to_owned(),
            text: text.to_owned(),
            location: None,
        })
    }

    pub(crate) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub(crate) fn new(report: &Report, extent: Extent) -> Self {
        let Report { field, code, .. } = report.clone();
        let (severity, text) = match &report.missing {
            Some(missing) if extent == Extent::Part => {
                let text = format!(
                    "{missing} is not among these manifests; expected to exist in the cluster"
                );
                (Severity::Note, text)
            }
            _ => report.compared(),
        };
        Remark {
            severity,
            code: Some(code),
            field,
            text,
            location: None,
        }
    }
}
