//! Ingresses that are not served at all, and what they would have kept out.

use k8s_openapi::api::networking::v1::{IngressRule, IngressSpec};
use sluice_ir::ReasonCode;
use sluice_translate_engine::{AnnotationTexts, Ingress, closed_text};

use super::MAX_PATHS;
use crate::Options;
use crate::annotations::OWN;

/// More rules than this in one Ingress are refused: R5 of the security rules.
pub(crate) const MAX_RULES: usize = 1000;

/// The API server's own limit for the annotations of one object: keys and values together, in bytes.
pub(crate) const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// The paths of an Ingress, times the bytes of the annotations that are read: each path has its own copy of what they say, in each
/// proxy. Lists of addresses are the longest: 15,000 networks for 500 paths once took 5 GB.
pub(crate) const MAX_ANNOTATION_BYTES_OF_ALL_PATHS: usize = 2 << 20;

/// Consequence for an Ingress that restricts access and is not served.
pub(super) const NOT_SERVED_AND_CLOSED: &str = concat!("Ingress not served; ", closed_text!());

/// Why an Ingress is not served at all.
pub(crate) struct Unservable {
    pub(super) code: ReasonCode,
    pub(super) field: &'static str,
    pub(super) reason: String,
    /// Its annotations were not read, so it may have access control.
    pub(super) may_restrict_access: bool,
}

/// `None`: it can be served.
pub(super) fn unservable(ingress: &Ingress, options: &Options) -> Option<Unservable> {
    let spec = ingress.spec.as_ref()?;
    if let Some(reason) = annotations_too_long(ingress, spec, &options.annotations_prefix) {
        return Some(Unservable {
            code: ReasonCode::LimitExceeded,
            field: "metadata.annotations",
            reason,
            may_restrict_access: true,
        });
    }
    unservable_spec(spec, options)
}

/// `None`: its rules and its default backend can be served.
pub(crate) fn unservable_spec(spec: &IngressSpec, options: &Options) -> Option<Unservable> {
    let rules = spec.rules.as_ref().map(Vec::len).unwrap_or_default();
    let (code, field, reason) = if options.disable_catch_all && spec.default_backend.is_some() {
        let reason = "expected no default backend (--disable-catch-all is on)".to_owned();
        (ReasonCode::NotPermitted, "spec.defaultBackend", reason)
    } else if rules > MAX_RULES {
        let reason = format!("expected at most {MAX_RULES} rules, got {rules}");
        (ReasonCode::LimitExceeded, "spec.rules", reason)
    } else {
        return None;
    };
    Some(Unservable {
        code,
        field,
        reason,
        may_restrict_access: false,
    })
}

fn annotations_too_long(ingress: &Ingress, spec: &IngressSpec, prefix: &str) -> Option<String> {
    let size_of = |is_counted: &dyn Fn(&str) -> bool| -> usize {
        let annotations = ingress.annotations.iter();
        annotations
            .filter(|(key, _)| is_counted(key))
            .map(|(key, value)| key.len() + value.len())
            .sum()
    };
    let size = size_of(&|_| true);
    if size > MAX_ANNOTATION_BYTES {
        return Some(format!(
            "expected at most {MAX_ANNOTATION_BYTES} bytes, got {size}"
        ));
    }
    let rules = spec.rules.iter().flatten();
    let paths_of = |rule: &IngressRule| rule.http.as_ref().map_or(1, |http| http.paths.len());
    let paths = rules.map(paths_of).sum::<usize>();
    let copied = size_of(&|key| key.starts_with(prefix) || key.starts_with(OWN));
    let most = MAX_ANNOTATION_BYTES_OF_ALL_PATHS / paths.clamp(1, MAX_PATHS);
    (copied > most).then(|| {
        format!(
            "expected at most {most} bytes for an Ingress of {paths} paths, got {copied}; spread the paths over several Ingresses"
        )
    })
}

/// The Ingress without its annotations.
pub(super) fn without_annotations(ingress: &Ingress) -> Ingress {
    let mut rest = ingress.clone();
    rest.annotations = AnnotationTexts::default();
    rest
}
