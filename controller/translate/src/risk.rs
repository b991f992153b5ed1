//! Risk classes of annotations.

use std::fmt;

/// ingress-nginx's classes; `annotations-risk-level` of the ConfigMap says up to which one annotations are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the variants are the levels")]
pub enum Risk {
    Low,
    Medium,
    High,
    Critical,
}

impl Risk {
    /// As the ConfigMap names it, in any case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let all = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];
        all.into_iter()
            .find(|risk| risk.to_string().eq_ignore_ascii_case(text))
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
