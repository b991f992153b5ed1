//! Remarks about an Ingress.

use serde::Serialize;
use sluice_ir::ReasonCode;
use sluice_translate::{Report, Severity};

use super::Extent;

/// One sentence about an Ingress.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Remark {
    pub(crate) severity: Severity,
    /// Reason code of the report; hints have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<ReasonCode>,
    pub(crate) field: String,
    pub(crate) text: String,
}

impl Remark {
    pub(crate) fn new(report: &Report, extent: Extent) -> Self {
        let Report {
            field,
            severity,
            code,
            reason,
            consequence,
            ..
        } = report.clone();
        let (severity, text) = match &report.missing {
            Some(missing) if extent == Extent::Part => {
                let text = format!(
                    "{missing} is not among these manifests; expected to exist in the cluster"
                );
                (Severity::Note, text)
            }
            _ if report.same_as_ingress_nginx && severity > Severity::Note => (
                Severity::Note,
                format!("{reason}; ingress-nginx does not honour it either"),
            ),
            _ => (severity, format!("{reason}; {consequence}")),
        };
        Remark {
            severity,
            code: Some(code),
            field,
            text,
        }
    }
}
