//! All remarks in one row.

use crate::finding::Findings;
use crate::remark::Remark;

/// A remark, with the object that it is about.
pub(crate) struct ObjectRemark<'a> {
    /// Kind and name.
    pub(crate) object: String,
    pub(crate) remark: &'a Remark,
}

/// Remarks about settings, then about Ingresses.
pub(crate) fn results(findings: &Findings) -> Vec<ObjectRemark<'_>> {
    let settings = findings.settings.iter();
    let settings = settings.map(|finding| (finding.object.to_string(), &finding.remarks));
    let ingresses = findings.ingresses.iter();
    let ingresses =
        ingresses.map(|finding| (format!("Ingress {}", finding.ingress), &finding.remarks));
    let all = settings.chain(ingresses).flat_map(|(object, remarks)| {
        remarks.iter().map(move |remark| ObjectRemark {
            object: object.clone(),
            remark,
        })
    });
    all.collect()
}
