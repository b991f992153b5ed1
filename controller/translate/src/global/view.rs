//! The keys of one ConfigMap, with the checks that all of them have in common behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::ReasonCode;
use sluice_syntax::{Parsed, shortened};
use sluice_translate_engine::{
    ClosedFor, Kind, ObjectCache, ObjectRef, Report, Reporter, Severity, closed_text,
};

use super::KEYS;
use super::keys::Key;
use crate::Options;
use crate::snippet::{self, Alternatives, Effective};
use crate::spelling::nearest_name;
use crate::support::{AppliesTo, DataPlane, Support};

/// Consequence of an access control setting that cannot be read.
pub(super) const CLOSES: (Severity, &str) = (
    Severity::Error,
    concat!(closed_text!(), ": those of all Ingresses"),
);

/// Values by key.
pub(super) struct View<'a, 'r> {
    values: BTreeMap<&'static str, &'a str>,
    reporter: Reporter<'r>,
    data_plane: Option<DataPlane>,
    /// Snippets, which are judged once everything else is known.
    snippets: Vec<(&'static str, &'a str, AppliesTo)>,
    #[cfg(test)]
    asked: std::collections::BTreeSet<&'static str>,
}

impl<'a, 'r> View<'a, 'r> {
    /// `None` when there is no ConfigMap to read.
    pub(super) fn read(
        cluster: &'a ObjectCache,
        options: &Options,
        reports: &'r mut Vec<Report>,
    ) -> Option<Self> {
        let key = options.configmap.clone()?;
        let config_map = cluster.config_map(&key);
        let mut reporter = Reporter::new(
            ObjectRef {
                kind: Kind::ConfigMap,
                key,
            },
            reports,
        );
        let Some(config_map) = config_map else {
            let reason = "expected the ConfigMap of --configmap, which does not exist";
            let consequence =
                "the defaults are used; access control that it configured is not enforced";
            reporter.report(
                ReasonCode::RefNotFound,
                Severity::Error,
                "metadata.name",
                reason,
                consequence,
            );
            return None;
        };
        if cluster.is_gone(&reporter.object().key) {
            let reason = "the ConfigMap of --configmap was deleted";
            let consequence = "its last content is used until the controller ends; create it again";
            reporter.report(
                ReasonCode::RefNotFound,
                Severity::Error,
                "metadata.name",
                reason,
                consequence,
            );
        }
        let mut view = View {
            values: BTreeMap::new(),
            reporter,
            data_plane: options.data_plane,
            snippets: Vec::new(),
            #[cfg(test)]
            asked: Default::default(),
        };
        for (name, value) in config_map.data.iter().flatten() {
            view.take(name, value.trim());
        }
        Some(view)
    }

    /// The one data plane that serves, where that is known.
    pub(super) fn served_by(&self) -> Option<DataPlane> {
        self.data_plane
    }

    /// Sets what the key stands for, when it is there and can be read.
    pub(super) fn set<T>(
        &mut self,
        target: &mut T,
        name: &'static str,
        parse: impl FnOnce(&'a str) -> Parsed<T>,
    ) {
        self.set_or(
            target,
            name,
            parse,
            (Severity::Warning, "the default is used"),
        );
    }

    /// As [`View::set`], for what decides who comes in; `false` when it is there and cannot be read.
    pub(super) fn set_access_control<T>(
        &mut self,
        target: &mut T,
        name: &'static str,
        parse: impl FnOnce(&'a str) -> Parsed<T>,
    ) -> bool {
        self.set_or(target, name, parse, CLOSES)
    }

    /// As [`View::set`], for what the strictest value takes the place of when it cannot be read.
    pub(super) fn strict<T>(
        &mut self,
        target: &mut T,
        name: &'static str,
        parse: impl FnOnce(&'a str) -> Parsed<T>,
        (strictest, consequence): (T, &str),
    ) {
        if !self.set_or(target, name, parse, (Severity::Error, consequence)) {
            *target = strictest;
        }
    }

    /// Sets what the key stands for; `false` when it is there and cannot be read, which is reported with what comes of it.
    pub(super) fn set_or<T>(
        &mut self,
        target: &mut T,
        name: &'static str,
        parse: impl FnOnce(&'a str) -> Parsed<T>,
        (severity, consequence): (Severity, &str),
    ) -> bool {
        debug_assert!(KEYS.iter().any(|key| key.name == name), "{name} is a key");
        #[cfg(test)]
        self.asked.insert(name);
        let Some(text) = self.values.get(name) else {
            return true;
        };
        match parse(text) {
            Ok(value) => {
                *target = value;
                true
            }
            Err(expected) => {
                let reason = format!("expected {expected}, got {:?}", shortened(text));
                self.report(
                    ReasonCode::InvalidValue,
                    severity,
                    name,
                    reason,
                    consequence,
                );
                false
            }
        }
    }

    /// The value, when there is one that is not blank.
    pub(super) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.given(name).filter(|text| !text.is_empty())
    }

    /// The value, also a blank one.
    pub(super) fn given(&mut self, name: &'static str) -> Option<&'a str> {
        #[cfg(test)]
        self.asked.insert(name);
        self.values.get(name).copied()
    }

    /// The ConfigMap.
    pub(super) fn object(&self) -> &ObjectRef {
        self.reporter.object()
    }

    /// Of the ConfigMap.
    pub(super) fn namespace(&self) -> Arc<str> {
        Arc::clone(&self.reporter.object().key.namespace)
    }

    fn take(&mut self, name: &str, value: &'a str) {
        let Some(Key {
            name,
            default,
            supports,
            ..
        }) = KEYS.iter().find(|key| key.name == name)
        else {
            self.unknown(name);
            return;
        };
        if supports.is_honoured(self.data_plane) {
            self.values.insert(name, value);
        }
        if value == *default {
            return;
        }
        for (applies_to, support) in supports.by_data_plane(self.data_plane) {
            match support {
                Support::Full | Support::Partly(_) => {}
                Support::NotNeeded(reason) => {
                    self.report(
                        ReasonCode::NoEffect,
                        Severity::Note,
                        name,
                        applies_to.note(reason),
                        "not needed",
                    );
                }
                Support::Unsupported(_) if snippet::language(name).is_some() => {
                    self.snippets.push((name, value, applies_to));
                }
                Support::Unsupported(advice) => {
                    self.report(
                        ReasonCode::Unsupported,
                        Severity::Warning,
                        name,
                        applies_to.not_supported(advice),
                        "served without it",
                    );
                }
                Support::Differs(difference) => {
                    self.report(
                        ReasonCode::PartiallySupported,
                        Severity::Note,
                        name,
                        applies_to.note(difference),
                        "served with this difference",
                    );
                }
            }
        }
    }

    /// Reports all snippets. `false`: one of them may guard.
    pub(super) fn judge_snippets(
        &mut self,
        effective: Effective,
        alternatives: Alternatives,
    ) -> bool {
        let mut is_open = true;
        for snippet in std::mem::take(&mut self.snippets) {
            is_open &= self.refuse_snippet(snippet, None, effective, alternatives);
        }
        is_open
    }

    /// Reports a snippet that is not served, and why, if that is more than its kind. `false`: it may guard.
    pub(super) fn refuse_snippet(
        &mut self,
        (name, text, applies_to): (&'static str, &str, AppliesTo),
        why: Option<String>,
        effective: Effective,
        alternatives: Alternatives,
    ) -> bool {
        let Some(language) = snippet::language(name) else {
            return true;
        };
        let judgement = snippet::judge(text, language, effective, self.data_plane, alternatives);
        let reason = match why {
            Some(why) => applies_to.note(&why),
            None => applies_to.not_supported(&judgement.advice),
        };
        let (severity, consequence) = match &judgement.closing {
            None => (Severity::Warning, "served without it".to_owned()),
            Some(closing) => (
                Severity::Error,
                format!("{closing}; the paths of all Ingresses answer 503"),
            ),
        };
        let code = ReasonCode::Unsupported;
        let closes = judgement.closing.is_some();
        self.report(code, severity, name, reason, &consequence)
            .closed_for = closes.then_some(ClosedFor::AccessControl);
        !closes
    }

    fn unknown(&mut self, name: &str) {
        let nearest = nearest_name(KEYS.iter().map(|key| key.name), name);
        let hint = nearest
            .map(|nearest| format!(" (did you mean {nearest}?)"))
            .unwrap_or_default();
        let name = shortened(name);
        let reason = format!("expected a key of ingress-nginx, got {name:?}{hint}");
        self.reporter.warn_unchanged(
            ReasonCode::UnknownField,
            format!("data.{name}"),
            reason,
            "key ignored",
        );
    }

    pub(super) fn report(
        &mut self,
        code: ReasonCode,
        severity: Severity,
        name: &str,
        reason: impl Into<String>,
        consequence: &str,
    ) -> &mut Report {
        let field = format!("data.{name}");
        let report = self
            .reporter
            .report(code, severity, field, reason, consequence);
        report.closed_for = (consequence == CLOSES.1).then_some(ClosedFor::AccessControl);
        report
    }

    #[cfg(test)]
    pub(super) fn with(
        values: BTreeMap<&'static str, &'a str>,
        reports: &'r mut Vec<Report>,
    ) -> Self {
        let object = ObjectRef {
            kind: Kind::ConfigMap,
            key: sluice_translate_engine::ObjectKey::new("default", "c"),
        };
        View {
            values,
            reporter: Reporter::new(object, reports),
            data_plane: None,
            snippets: Vec::new(),
            asked: Default::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn unread(&self) -> Vec<&'static str> {
        self.values
            .keys()
            .filter(|name| !self.asked.contains(*name))
            .copied()
            .collect()
    }
}
