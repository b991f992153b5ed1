//! Annotations as they were written: known ones, blocked words, and unknown names.

use sluice_ir::ReasonCode;
use sluice_syntax::shortened;
use sluice_translate_engine::{Cause, Severity};

use super::catalogue::{self, Annotation, Role, Value};
use super::former;
use super::snippets::Snippet;
use super::view::{Rules, View};
use crate::global::KEYS;
use crate::support::{AppliesTo, Support};

/// Prefixes that ingress-nginx and its forks had before, and those of nginx's own controller. Neither is read.
const FOREIGN: [&str; 4] = [
    "ingress.kubernetes.io/",
    "nginx.ingress.kubernetes.io/",
    "nginx.org/",
    "nginx.com/",
];

/// Annotations that ingress-nginx does not have; the catalogue has them with this prefix.
pub(crate) const OWN: &str = "sluice.dev/";

/// The name of an annotation that is read, as the catalogue has it. `prefix` is without the slash.
pub(super) fn catalogue_name<'k>(key: &'k str, prefix: &str) -> Option<&'k str> {
    let own = key.starts_with(OWN).then_some(key);
    let rest = key.strip_prefix(prefix);
    rest.and_then(|rest| rest.strip_prefix('/')).or(own)
}

impl<'a> View<'a, '_> {
    pub(super) fn take(&mut self, name: &str, value: &'a str, rules: &Rules<'_>) {
        if let Some(word) = rules
            .blocked
            .iter()
            .find(|word| value.contains(word.as_str()))
        {
            self.blocked = true;
            // Its value is not read, so it is not known whom it would let in.
            let annotation = catalogue::find(name);
            match annotation.map(|annotation| (annotation, annotation.role)) {
                Some((annotation, Role::AccessControl | Role::Snippet)) => {
                    self.deny(annotation);
                }
                Some((_, Role::Paths)) => self.paths_unreadable = true,
                Some((_, Role::Narrows(_) | Role::Plain)) | None => {}
            }
            let reason =
                format!("expected nothing of annotation-value-word-blocklist, got {word:?}");
            let field = format!("annotation {}", shortened(name));
            self.reporter.report(
                ReasonCode::NotPermitted,
                Severity::Error,
                field,
                reason,
                "Ingress not served",
            );
            return;
        }
        let value = value.trim();
        match catalogue::find(name) {
            None => self.unknown(name),
            Some(annotation) if self.is_of_main(annotation) => self.note_main(annotation, value),
            Some(annotation) if value.is_empty() => self.add_blank(annotation),
            Some(annotation) => self.add_known(annotation, value, rules),
        }
    }

    /// True if it means nothing on this Ingress, because that is a canary. Of snippets this is said where they are served.
    fn is_of_main(&self, annotation: &Annotation) -> bool {
        let is_snippet = annotation.role == Role::Snippet;
        self.is_canary && !is_snippet && !catalogue::is_of_canaries(annotation.name)
    }

    /// Tools that make canaries copy all annotations. What is not there cannot be wrong, so the value is not read.
    fn note_main(&mut self, annotation: &Annotation, value: &str) {
        if value.is_empty() {
            return;
        }
        let name = annotation.name;
        let reason = "a canary has the settings of its main Ingress; set it there";
        let report = self.note(ReasonCode::NoEffect, name, reason, "no effect");
        report.same_as_ingress_nginx = !catalogue::is_of_first(name);
        if name == "auth-tls-secret" {
            report.severity = Severity::Warning;
        }
    }

    /// Charts write the name and leave the value to the user. But a lost value of access control
    /// closes the paths.
    fn add_blank(&mut self, annotation: &'static Annotation) {
        let counts = match annotation.role {
            Role::AccessControl | Role::Narrows(_) => !annotation.may_be_blank,
            Role::Plain | Role::Paths | Role::Snippet => false,
        };
        if counts && annotation.supports.is_honoured(None) {
            self.blank.push(annotation.name);
        }
    }

    /// Of two names that mean the same, one with a value is enough.
    pub(super) fn reject_blanks(&mut self) {
        for name in std::mem::take(&mut self.blank) {
            let Some(annotation) = catalogue::find(name) else {
                continue;
            };
            if !self
                .values
                .contains_key(annotation.alias_of.unwrap_or(name))
            {
                let reason = format!(
                    "expected {}, got nothing; leave it out if it is not needed",
                    annotation.value
                );
                self.not_honoured(name, reason, "");
            }
        }
    }

    fn add_known(&mut self, annotation: &'static Annotation, value: &'a str, rules: &Rules<'_>) {
        let Annotation { name, supports, .. } = *annotation;
        if supports.is_honoured(rules.data_plane) && annotation.role != Role::Snippet {
            if annotation.risk > rules.risk {
                let reason = format!(
                    "expected at most risk {} (annotations-risk-level), got one of risk {}",
                    rules.risk, annotation.risk
                );
                let cause = Cause::new(ReasonCode::NotPermitted, reason);
                self.not_honoured(name, cause, "annotation ignored")
                    .admission_denied = true;
                return;
            }
            self.values.insert(name, value);
            // ingress-nginx trims what is between commas.
            let is_list = matches!(annotation.value, Value::Cidrs | Value::List);
            let is_allowed = |c: char| !c.is_control() || is_list && c.is_whitespace();
            if !value.chars().all(is_allowed) {
                self.reject(name, "one line");
                self.values.remove(name);
                return;
            }
        }
        for (applies_to, support) in supports.by_data_plane(rules.data_plane) {
            self.report_support(annotation, value, (applies_to, support), rules);
        }
    }

    fn report_support(
        &mut self,
        annotation: &'static Annotation,
        value: &'a str,
        (applies_to, support): (AppliesTo, Support),
        rules: &Rules<'_>,
    ) {
        let name = annotation.name;
        match support {
            Support::Unsupported(_) | Support::Partly(_) if annotation.role == Role::Snippet => {
                self.snippets.push(Snippet {
                    annotation,
                    text: value,
                    applies_to,
                    is_served: matches!(support, Support::Partly(_)),
                    is_too_risky: annotation.risk > rules.risk,
                });
            }
            Support::Full | Support::Partly(_) => {}
            Support::Unsupported(_) | Support::NotNeeded(_) | Support::Differs(_)
                if annotation.harmless.contains(&value) => {}
            Support::Unsupported(advice) => {
                let is_too_risky = annotation.risk > rules.risk;
                let cause = Cause::new(ReasonCode::Unsupported, applies_to.not_supported(advice));
                self.not_honoured(name, cause, "served without it")
                    .admission_denied |= is_too_risky;
            }
            Support::NotNeeded(reason) => {
                self.note(
                    ReasonCode::NoEffect,
                    name,
                    applies_to.note(reason),
                    "not needed",
                )
                .same_as_ingress_nginx = true;
            }
            Support::Differs(difference) => {
                self.note(
                    ReasonCode::PartiallySupported,
                    name,
                    applies_to.note(difference),
                    "served with this difference",
                );
            }
        }
    }

    pub(super) fn unknown(&mut self, name: &str) {
        let shown = shortened(name);
        let is_own = name.starts_with(OWN);
        let product = if is_own { "Sluice" } else { "ingress-nginx" };
        let expected = format!("expected an annotation of {product}, got");
        let reason = match (former::remark(name), catalogue::nearest(name)) {
            (Some(remark), _) => format!("{expected} {shown:?} ({remark})"),
            _ if KEYS.iter().any(|key| key.name == name) => {
                format!("{expected} a key of its ConfigMap")
            }
            (None, Some(nearest)) => format!("{expected} {shown:?} (did you mean {nearest}?)"),
            (None, None) => format!("{expected} {shown:?}"),
        };
        // Whoever writes one of ours did not bring it from ingress-nginx, and expects it to work.
        self.reporter
            .report(
                ReasonCode::UnknownField,
                Severity::Warning,
                format!("annotation {shown}"),
                reason,
                "annotation ignored",
            )
            .same_as_ingress_nginx = !is_own;
    }

    /// A known name under a prefix that is not read.
    pub(super) fn warn_of_foreign_prefix(&mut self, key: &str, prefix: &str) {
        let of_ours = |foreign: &str| key.strip_prefix(foreign).and_then(catalogue::find);
        if let Some(annotation) = FOREIGN.into_iter().find_map(of_ours) {
            let reason = format!(
                "expected {prefix}/{}, got {:?}",
                annotation.name,
                shortened(key)
            );
            let field = format!("annotation {}", shortened(key));
            self.reporter.warn_unchanged(
                ReasonCode::UnknownField,
                field,
                reason,
                "annotation ignored, as by ingress-nginx",
            );
        }
    }
}
