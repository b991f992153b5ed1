//! Canaries: Ingresses that are a second backend of another one's.
//!
//! A canary makes no host and no path. Its host, path and type only say which backend it is the second of; it then is
//! that for every path that leads there. A backend may have several: the filter asks the headers of each, then the cookies
//! of each, and then draws one by the weights of all.

use sluice_ir::{Action, BackendId, Canary, CanaryRules, Destination, ReasonCode, ServerName};
use sluice_syntax::path::{self, PathType};
use sluice_translate_engine::ids::without_variant;
use sluice_translate_engine::{CanaryCandidate, Ingress, ReferencePrecedence, Reporter, Severity};

use super::Assembly;
use super::path_rule::{IngressContext, PathRule};

/// A canary that is resolved once all other path rules are known.
#[derive(Debug)]
pub(super) struct PendingCanary {
    host: ServerName,
    path: String,
    kind: PathType,
    context: IngressContext,
    field: String,
    backend: BackendId,
    rules: CanaryRules,
    precedence: ReferencePrecedence,
}

/// Reason why a canary is not used.
struct Unused {
    reason: String,
    severity: Severity,
}

impl Unused {
    fn new(reason: impl Into<String>) -> Self {
        Unused {
            reason: reason.into(),
            severity: Severity::Warning,
        }
    }

    /// The path of its main Ingress is closed.
    fn closed(reason: String) -> Self {
        Unused {
            reason,
            severity: Severity::Error,
        }
    }
}

fn report_unused(mut reporter: Reporter<'_>, field: &str, reason: String, severity: Severity) {
    let report = reporter.report(
        ReasonCode::InvalidValue,
        severity,
        field,
        reason,
        "canary not used",
    );
    report.same_as_ingress_nginx = severity == Severity::Note;
}

impl Assembly<'_> {
    pub(super) fn add_canary(
        &mut self,
        ingress: &Ingress,
        context: &IngressContext,
        rules: &CanaryRules,
    ) {
        if context.annotations.denied {
            return;
        }
        let rules_of_ingress = ingress
            .spec
            .as_ref()
            .and_then(|spec| spec.rules.as_deref())
            .unwrap_or_default();
        for (position, rule) in rules_of_ingress.iter().enumerate() {
            let Ok(host) = ServerName::parse(rule.host.as_deref().unwrap_or_default()) else {
                continue;
            };
            let rule_field = format!("spec.rules[{position}]");
            for (number, path) in self
                .paths_within_limit(rule, None, &rule_field, context)
                .iter()
                .enumerate()
            {
                let field = format!("spec.rules[{position}].http.paths[{number}]");
                let (Ok(text), Ok(kind)) = (
                    path::checked(path.path.as_deref()),
                    PathType::parse(&path.path_type),
                ) else {
                    continue;
                };
                let place = format!("{field}.backend");
                let Some((service, port)) = self.service_of(&path.backend, context, &place) else {
                    continue;
                };
                let transport = context.annotations.backend.transport.clone();
                let backend = self.backend(
                    service,
                    port,
                    &transport,
                    context,
                    format!("{place}.service"),
                );
                self.canaries.push(PendingCanary {
                    host: host.clone(),
                    path: text.to_owned(),
                    kind,
                    context: context.clone(),
                    field,
                    backend,
                    rules: rules.clone(),
                    precedence: self.backend_refs.next_precedence(),
                });
            }
        }
    }

    /// Candidates for canaries of backends; what is wrong with one by itself is reported.
    pub(super) fn canary_candidates(&mut self) -> Vec<(ReferencePrecedence, CanaryCandidate)> {
        let mut canary_candidates = Vec::new();
        for pending in std::mem::take(&mut self.canaries) {
            let PendingCanary {
                context,
                field,
                backend,
                rules,
                precedence,
                ..
            } = &pending;
            match self.main_of(&pending) {
                Ok(main) => {
                    let sticky = context.annotations.backend.canary_is_sticky;
                    let canary = Canary {
                        backend: backend.clone(),
                        rules: rules.clone(),
                        sticky,
                    };
                    let (object, field) = (context.object.clone(), field.clone());
                    canary_candidates.push((
                        precedence.clone(),
                        CanaryCandidate {
                            main,
                            canary,
                            object,
                            field,
                        },
                    ));
                }
                Err(Unused { reason, severity }) => {
                    let report = self.report(&context.object);
                    report_unused(report, field, reason, severity);
                }
            }
        }
        canary_candidates
    }

    fn is_closed(&self, rule: &PathRule, host: &ServerName) -> bool {
        let builder = self.builders.get(host);
        let namespace = &rule.owner.key.namespace;
        rule.target.action == Action::Denied
            || builder.is_some_and(|builder| builder.closed.contains_key(namespace))
    }

    fn main_of(&self, pending: &PendingCanary) -> Result<BackendId, Unused> {
        let PendingCanary {
            host,
            path,
            kind,
            context,
            backend,
            ..
        } = pending;
        let rule = self
            .builders
            .get(host)
            .and_then(|builder| builder.paths.rule(path, *kind));
        // There it is no more than here.
        let alone = Unused {
            reason: "no other Ingress has this host and path".to_owned(),
            severity: Severity::Note,
        };
        let rule = rule.ok_or(alone)?;
        if self.is_closed(rule, host) {
            let owner = &rule.owner;
            return Err(Unused::closed(format!(
                "the path of {owner} answers 503, because access control cannot be enforced"
            )));
        }
        let Some(main) = rule.target.action.destination().map(Destination::primary) else {
            return Err(Unused::new("the path has no backend"));
        };
        // Who shares a host with others must not take their requests (R12 of the security rules).
        if rule.owner.key.namespace != context.object.key.namespace {
            return Err(Unused::new(format!(
                "path belongs to {}, of another namespace",
                rule.owner
            )));
        }
        let main = without_variant(main);
        if main == without_variant(backend) {
            return Err(Unused::new("the backend is that of the path itself"));
        }
        Ok(main)
    }
}
