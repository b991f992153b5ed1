//! Paths of a host: the first Ingress that claims one has it, and one that guards access is never just left out.

use k8s_openapi::api::networking::v1::{HTTPIngressPath, IngressRule};
use sluice_ir::{Action, ReasonCode, ServerName};
use sluice_syntax::path::{self, PathType};
use sluice_translate_engine::{Severity, closed};

use super::Assembly;
use super::closing::{Closing, paths_of};
use super::path_rule::{IngressContext, PathRule, RouteTarget, already_claimed};
use super::patterns::{self, MAX_PATTERN_COST};
use crate::annotations::Reach;

/// More paths in one Ingress than this are not served: R5 of the security rules.
pub(crate) const MAX_PATHS: usize = 5000;

impl Assembly<'_> {
    /// Takes the paths of a rule, but for those that are too many. Where they guard access, it is not known what of their host they were
    /// meant to guard. A canary has no host.
    pub(super) fn paths_within_limit<'a>(
        &mut self,
        rule: &'a IngressRule,
        name: Option<&ServerName>,
        field: &str,
        context: &IngressContext,
    ) -> &'a [HTTPIngressPath] {
        let paths = rule
            .http
            .as_ref()
            .map(|http| http.paths.as_slice())
            .unwrap_or_default();
        let served = paths.len().min(MAX_PATHS - self.paths);
        self.paths += served;
        if served < paths.len() {
            let reason = format!("expected at most {MAX_PATHS} paths in an Ingress, got more");
            let field = format!("{field}.http.paths[{served}]");
            let consequence =
                if let Some(name) = name.filter(|_| context.annotations.restricts_access()) {
                    let builder = self.builders.entry(name.clone()).or_default();
                    builder.close(context, Reach::Namespace, &field);
                    let closed = closed(paths_of(Some(&context.object.key.namespace), name));
                    format!("this path and those after it are not served; {closed}")
                } else {
                    "this path and those after it are not served".to_owned()
                };
            self.report(&context.object).report(
                ReasonCode::LimitExceeded,
                Severity::Error,
                field,
                reason,
                consequence,
            );
        }
        paths.get(..served).unwrap_or_default()
    }

    /// A rule without `http` is for the default backend; one with no path in it nobody can have meant, and a cluster refuses it.
    pub(super) fn report_missing_paths(
        &mut self,
        rule: &IngressRule,
        field: &str,
        context: &IngressContext,
    ) {
        if rule.http.as_ref().is_some_and(|http| http.paths.is_empty()) {
            self.report(&context.object).report(
                ReasonCode::InvalidValue,
                Severity::Error,
                format!("{field}.http.paths"),
                "expected at least one path, got none",
                "rule not served",
            );
        }
    }

    pub(super) fn add_path(
        &mut self,
        name: &ServerName,
        path: &HTTPIngressPath,
        field: &str,
        context: &IngressContext,
    ) {
        let text = path.path.as_deref();
        let read = || -> Result<_, (&str, String)> {
            let text = path::checked(text).map_err(|reason| ("path", reason))?;
            let kind = PathType::parse(&path.path_type).map_err(|reason| ("pathType", reason))?;
            Ok((text, kind))
        };
        match read() {
            Ok((text, _)) if context.annotations.paths_unreadable => {
                self.close_path(name, &path::beginning(text), path, field, context);
            }
            Ok((text, kind)) => self.claim_path(name, (text, kind), path, field, context),
            Err((part, reason)) => {
                let below = context
                    .annotations
                    .restricts_access()
                    .then(|| path::readable_beginning(text));
                let consequence = match &below {
                    Some(beginning) => {
                        format!(
                            "path not served; {}",
                            closed(format!("those below {beginning:?}"))
                        )
                    }
                    None => "path not served".to_owned(),
                };
                let path_field = format!("{field}.{part}");
                self.report(&context.object).report(
                    ReasonCode::InvalidValue,
                    Severity::Error,
                    path_field,
                    reason,
                    consequence,
                );
                if let Some(beginning) = below {
                    self.close_path(name, &beginning, path, field, &context.closed());
                }
            }
        }
    }

    /// True if a path is not to be measured: its Ingress has had as much as there is. The same pattern is measured once.
    fn is_beyond_pattern_budget(&mut self, path: &str, is_pattern: bool) -> bool {
        if !patterns::is_costly(path, is_pattern) || self.patterns.contains(path) {
            return false;
        }
        if self.pattern_cost <= MAX_PATTERN_COST {
            self.pattern_cost += patterns::cost(path);
        }
        let is_beyond = self.pattern_cost > MAX_PATTERN_COST;
        if !is_beyond {
            self.patterns.insert(path.to_owned());
        }
        is_beyond
    }

    /// Closes everything below a path of the namespace, in the place of a path that restricts access and cannot be served.
    fn close_path(
        &mut self,
        name: &ServerName,
        beginning: &str,
        path: &HTTPIngressPath,
        field: &str,
        context: &IngressContext,
    ) {
        let object = &context.object;
        let closing = Closing::new(object, format!("{field}.path"));
        for prefix in path::prefixes_below(beginning) {
            let builder = self.builders.entry(name.clone()).or_default();
            let same = builder.paths.rule_mut(&prefix, PathType::Prefix);
            let same = same.filter(|rule| rule.owner.key.namespace == object.key.namespace);
            if let Some(rule) = same {
                if rule.target.action != Action::Denied {
                    closing.report_below(rule.owned(), beginning, &mut self.reports);
                }
                rule.target = RouteTarget::from_action(Action::Denied);
                continue;
            }
            self.claim_path(name, (&prefix, PathType::Prefix), path, field, context);
            let builder = self.builders.entry(name.clone()).or_default();
            let claimed = builder.paths.rule_mut(&prefix, PathType::Prefix);
            if let Some(rule) = claimed.filter(|rule| rule.owner == *object) {
                rule.closing = Some(closing.clone());
            }
        }
    }

    fn claim_path(
        &mut self,
        name: &ServerName,
        (text, kind): (&str, PathType),
        path: &HTTPIngressPath,
        field: &str,
        context: &IngressContext,
    ) {
        let path_field = format!("{field}.path");
        if let Some(rule) = self
            .builders
            .get(name)
            .and_then(|builder| builder.paths.rule(text, kind))
        {
            if let Some(closing) = &rule.closing {
                closing.report_below((&context.object, &path_field), text, &mut self.reports);
                return;
            }
            let reason = already_claimed("path", &rule.owner, &context.object);
            self.report(&context.object).warn_unchanged(
                ReasonCode::Conflicted,
                path_field,
                reason,
                "path not used",
            );
            return;
        }
        if let Some(target) = self.route_target(&path.backend, context, &format!("{field}.backend"))
        {
            let is_pattern = context.annotations.paths.is_pattern(text);
            let rule = PathRule {
                kind,
                path: text.to_owned(),
                beyond_pattern_budget: self.is_beyond_pattern_budget(text, is_pattern),
                ..PathRule::root(target, context, path_field)
            };
            self.builders
                .entry(name.clone())
                .or_default()
                .paths
                .push(rule);
        }
    }
}
