//! The annotations of one Ingress, with the checks that all of them have in common behind them.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::Ingress;

use super::admission_denied;
use super::catalogue::{self, Annotation, Risk, Role};
use super::snippets::Snippet;
use super::value::Parsed;
use crate::global::KEYS;
use crate::references::{ReferenceError, References};
use crate::report::shortened;
use crate::report::{CLOSED, Reporter};
use crate::secrets::Secrets;
use crate::support::{AppliesTo, DataPlane, Support};
use crate::{Report, Severity};

const PART_IGNORED: &str = "this part ignored";

/// What ingress-nginx and its forks have used before, or what nginx's own controller uses: read by neither.
const FOREIGN: [&str; 4] = [
    "ingress.kubernetes.io/",
    "nginx.ingress.kubernetes.io/",
    "nginx.org/",
    "nginx.com/",
];

/// What ingress-nginx had once, and what has taken its place.
const SUCCESSORS: [(&str, &str); 2] = [
    ("grpc-backend", "backend-protocol: GRPC"),
    ("secure-backends", "backend-protocol: HTTPS"),
];

/// Annotations that ingress-nginx does not have; the catalogue has them with this prefix.
const OWN: &str = "sluice.dev/";

/// The operator's rules about annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules<'a> {
    /// `--annotations-prefix`, without the slash.
    pub(crate) prefix: &'a str,
    /// `annotations-risk-level`: the highest that is taken.
    pub(crate) risk: Risk,
    /// `annotation-value-word-blocklist`: no value may contain one of these.
    pub(crate) blocked: &'a [String],
    /// Data plane that serves; none: any.
    pub(crate) data_plane: Option<DataPlane>,
}

/// Values by name, and what their trouble comes to.
pub(crate) struct View<'a, 'r> {
    values: BTreeMap<&'static str, &'a str>,
    /// Those that are written and have no value that can be honoured.
    refused: BTreeSet<&'static str>,
    /// Those that are written without a value, and should have one.
    blank: Vec<&'static str>,
    pub(super) reporter: Reporter<'r>,
    /// Of the Ingress.
    pub(super) namespace: String,
    pub(super) references: References<'a>,
    pub(super) secrets: &'r mut Secrets,
    /// Something that guards access cannot be honoured.
    pub(super) denied: bool,
    /// The paths mean something that cannot be expressed.
    pub(super) paths_unreadable: bool,
    /// A value contains a word that the operator does not want to see.
    pub(super) blocked: bool,
    /// What closes or not, once the rest is known.
    pub(super) snippets: Vec<Snippet<'a>>,
    #[cfg(test)]
    asked: std::cell::RefCell<std::collections::BTreeSet<&'static str>>,
}

impl<'a, 'r> View<'a, 'r> {
    pub(super) fn of(
        ingress: &'a Ingress,
        rules: &Rules<'_>,
        references: References<'a>,
        secrets: &'r mut Secrets,
        reporter: Reporter<'r>,
    ) -> Self {
        let mut view = View {
            values: BTreeMap::new(),
            refused: BTreeSet::new(),
            blank: Vec::new(),
            namespace: reporter.object().key.namespace.clone(),
            reporter,
            references,
            secrets,
            denied: false,
            paths_unreadable: false,
            blocked: false,
            snippets: Vec::new(),
            #[cfg(test)]
            asked: std::cell::RefCell::default(),
        };
        for (key, value) in ingress.metadata.annotations.iter().flatten() {
            let own = key.starts_with(OWN).then_some(key.as_str());
            match key
                .strip_prefix(rules.prefix)
                .and_then(|rest| rest.strip_prefix('/'))
                .or(own)
            {
                Some(name) => view.take(name, value, rules),
                None => view.look_at_foreign(key, rules.prefix),
            }
        }
        view.settle_aliases();
        view.refuse_blanks();
        view
    }

    /// The value, when there is one that is not blank.
    pub(super) fn text(&self, name: &'static str) -> Option<&'a str> {
        #[cfg(test)]
        self.asked.borrow_mut().insert(name);
        debug_assert!(
            catalogue::find(name).is_some(),
            "{name} is in the catalogue"
        );
        self.values.get(name).copied()
    }

    /// The value, parsed. One that cannot be parsed is reported, and is none.
    pub(super) fn read<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'a str) -> Parsed<T>,
    ) -> Option<T> {
        let text = self.text(name)?;
        match parse(text) {
            Ok(value) => Some(value),
            Err(expected) => {
                self.refuse(name, &expected);
                None
            }
        }
    }

    /// The value of what narrows: `absent` where it is not written, and `strictest` where it cannot be honoured.
    pub(super) fn strict<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&'a str) -> Parsed<T>,
        absent: T,
        strictest: T,
    ) -> T {
        if self.is_refused(name) {
            return strictest;
        }
        match self.text(name) {
            None => absent,
            Some(_) => self.read(name, parse).unwrap_or(strictest),
        }
    }

    /// True if it is written, but has no value that can be honoured.
    pub(super) fn is_refused(&self, name: &'static str) -> bool {
        #[cfg(test)]
        self.asked.borrow_mut().insert(name);
        self.refused.contains(name)
    }

    /// The value of a switch that is off unless it says otherwise.
    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        self.read(name, super::value::bool).unwrap_or_default()
    }

    /// Reports a value that is not what was expected. A guard then closes its locations.
    pub(super) fn refuse(&mut self, name: &'static str, expected: &str) {
        let got = self.values.get(name).copied().unwrap_or_default();
        let reason = format!("expected {expected}, got {:?}", shortened(got));
        self.without(name, reason, "annotation ignored")
            .admission_denied |= admission_denied::is_when_malformed(name);
    }

    /// As [`View::refuse`], for a part of the value.
    pub(super) fn refuse_part(&mut self, name: &'static str, expected: &str, got: &str) {
        let reason = format!("expected {expected}, got {:?}", shortened(got));
        let role = catalogue::find(name).map(|annotation| annotation.role);
        let report = match role {
            // The other parts are as strict without it.
            Some(Role::Narrows(_)) => self.reporter.say(
                Severity::Warning,
                format!("annotation {name}"),
                reason,
                PART_IGNORED,
            ),
            _ => self.without(name, reason, PART_IGNORED),
        };
        report.admission_denied |= admission_denied::is_when_malformed(name);
    }

    /// Reports what is served without, and says what that means for the Ingress.
    pub(super) fn without(
        &mut self,
        name: &'static str,
        error: impl Into<ReferenceError>,
        otherwise: &str,
    ) -> &mut Report {
        let role = catalogue::find(name).map_or(Role::Plain, |annotation| annotation.role);
        let (severity, consequence) = match role {
            Role::Plain | Role::Snippet => (Severity::Warning, otherwise),
            Role::Guard => {
                self.denied = true;
                (Severity::Error, CLOSED)
            }
            Role::Narrows(consequence) => {
                self.refused.insert(
                    catalogue::find(name).map_or(name, |found| found.alias_of.unwrap_or(name)),
                );
                (Severity::Error, consequence)
            }
            Role::Paths => {
                self.paths_unreadable = true;
                (
                    Severity::Error,
                    "it changes what paths mean, so they are not served",
                )
            }
        };
        let ReferenceError { reason, missing } = error.into();
        let report = self
            .reporter
            .say(severity, format!("annotation {name}"), reason, consequence);
        report.missing = missing;
        report
    }

    /// Something to know about an annotation that is honoured.
    pub(super) fn note(
        &mut self,
        name: &str,
        reason: impl Into<String>,
        consequence: &str,
    ) -> &mut Report {
        self.reporter.say(
            Severity::Note,
            format!("annotation {name}"),
            reason,
            consequence,
        )
    }

    fn take(&mut self, name: &str, value: &'a str, rules: &Rules<'_>) {
        if let Some(word) = rules
            .blocked
            .iter()
            .find(|word| value.contains(word.as_str()))
        {
            self.blocked = true;
            // What it says is not read, so nobody knows whom it would let in.
            match catalogue::find(name).map(|annotation| annotation.role) {
                Some(Role::Guard | Role::Snippet) => self.denied = true,
                Some(Role::Paths) => self.paths_unreadable = true,
                Some(Role::Narrows(_) | Role::Plain) | None => {}
            }
            let reason =
                format!("expected nothing of annotation-value-word-blocklist, got {word:?}");
            let field = format!("annotation {}", shortened(name));
            self.reporter
                .say(Severity::Error, field, reason, "Ingress not served");
            return;
        }
        let value = value.trim();
        match catalogue::find(name) {
            None => self.unknown(name),
            Some(annotation) if value.is_empty() => self.take_blank(annotation),
            Some(annotation) => self.take_known(annotation, value, rules),
        }
    }

    /// Charts write the name and leave the value to whoever installs them. But where somebody was to be kept out, a value that
    /// got lost lets nobody in.
    fn take_blank(&mut self, annotation: &'static Annotation) {
        let counts = match annotation.role {
            Role::Guard | Role::Narrows(_) => !annotation.may_be_blank,
            Role::Plain | Role::Paths | Role::Snippet => false,
        };
        if counts && annotation.supports.is_honoured(None) {
            self.blank.push(annotation.name);
        }
    }

    /// Of two names that mean the same, one with a value is enough.
    fn refuse_blanks(&mut self) {
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
                self.without(name, reason, "");
            }
        }
    }

    fn take_known(&mut self, annotation: &'static Annotation, value: &'a str, rules: &Rules<'_>) {
        let Annotation { name, supports, .. } = *annotation;
        if supports.is_honoured(rules.data_plane) {
            if annotation.risk > rules.risk {
                let reason = format!(
                    "expected at most risk {} (annotations-risk-level), got one of risk {}",
                    rules.risk, annotation.risk
                );
                self.without(name, reason, "annotation ignored")
                    .admission_denied = true;
                return;
            }
            self.values.insert(name, value);
            if value.chars().any(char::is_control) {
                self.refuse(name, "one line");
                self.values.remove(name);
                return;
            }
        }
        for (applies_to, support) in supports.of(rules.data_plane) {
            self.say_what_differs(annotation, value, (applies_to, support), rules);
        }
    }

    fn say_what_differs(
        &mut self,
        annotation: &'static Annotation,
        value: &'a str,
        (applies_to, support): (AppliesTo, Support),
        rules: &Rules<'_>,
    ) {
        let name = annotation.name;
        match support {
            Support::Full | Support::Partly(_) => {}
            Support::Unsupported(_) | Support::NotNeeded(_)
                if annotation.harmless.contains(&value) => {}
            Support::Unsupported(advice) => {
                let is_too_risky = annotation.risk > rules.risk;
                if annotation.role == Role::Snippet {
                    self.snippets.push(Snippet {
                        annotation,
                        text: value,
                        applies_to,
                        advice,
                        is_too_risky,
                    });
                    return;
                }
                self.without(name, applies_to.not_supported(advice), "served without it")
                    .admission_denied |= is_too_risky;
            }
            Support::NotNeeded(reason) => {
                self.note(name, applies_to.note(reason), "nothing is missing")
                    .as_before = true;
            }
            Support::Differs(difference) => {
                self.note(
                    name,
                    applies_to.note(difference),
                    "served with this difference",
                );
            }
        }
    }

    fn unknown(&mut self, name: &str) {
        let shown = shortened(name);
        let product = if name.starts_with(OWN) {
            "Sluice"
        } else {
            "ingress-nginx"
        };
        let expected = format!("expected an annotation of {product}, got");
        let successor = SUCCESSORS.iter().find(|(old, _)| *old == name);
        let reason = match (successor, catalogue::nearest(name)) {
            (Some((_, now)), _) => format!("{expected} {shown:?} (today it is {now})"),
            _ if KEYS.iter().any(|key| key.name == name) => {
                format!("{expected} a key of its ConfigMap")
            }
            (None, Some(nearest)) => format!("{expected} {shown:?} (did you mean {nearest}?)"),
            (None, None) => format!("{expected} {shown:?}"),
        };
        self.reporter
            .warn_as_before(format!("annotation {shown}"), reason, "annotation ignored");
    }

    /// A name that is one of ours under a prefix that nobody reads.
    fn look_at_foreign(&mut self, key: &str, prefix: &str) {
        let of_ours = |foreign: &str| key.strip_prefix(foreign).and_then(catalogue::find);
        if let Some(annotation) = FOREIGN.into_iter().find_map(of_ours) {
            let reason = format!(
                "expected {prefix}/{}, got {:?}",
                annotation.name,
                shortened(key)
            );
            let field = format!("annotation {}", shortened(key));
            self.reporter
                .warn_as_before(field, reason, "annotation ignored, as by ingress-nginx");
        }
    }

    /// An alias counts when the name that it stands for is not there.
    fn settle_aliases(&mut self) {
        let aliases = self
            .values
            .keys()
            .filter_map(|name| Some((*name, catalogue::find(name)?.alias_of?)));
        for (alias, name) in aliases.collect::<Vec<_>>() {
            let Some(value) = self.values.remove(alias) else {
                continue;
            };
            if self.values.contains_key(name) {
                self.note(
                    alias,
                    format!("expected one of {name} and {alias}, got both"),
                    "annotation ignored",
                );
            } else {
                self.values.insert(name, value);
            }
        }
    }

    /// Annotations that are taken but that nothing has asked for: accepted and ignored.
    #[cfg(test)]
    pub(super) fn unasked(&self) -> Vec<&'static str> {
        let asked = self.asked.borrow();
        self.values
            .keys()
            .filter(|name| !asked.contains(*name))
            .copied()
            .collect()
    }
}
