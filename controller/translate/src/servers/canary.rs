//! Canaries: Ingresses that are a second backend of another one's.
//!
//! A canary makes no host and no path. Its host, path and type only say which backend it is the second of; it then is
//! that for every path that leads there, with the transport of each. A backend may have several: the filter asks the headers of
//! each, then the cookies of each, and then draws one by the weights of all.

use k8s_openapi::api::networking::v1::IngressBackend;
use sluice_ir::{Action, BackendId, Canary, CanaryRules, Destination, ReasonCode, ServerName};
use sluice_syntax::path::{self, PathType};
use sluice_syntax::shortened;
use sluice_translate_engine::ids::without_variant;
use sluice_translate_engine::{
    BackendSource, CanaryCandidate, Ingress, ReferencePrecedence, ReferenceSite, Reporter, Severity,
};

use super::Assembly;
use super::path_rule::{IngressContext, PathRule};
use super::server_builder::ServerBuilder;
use crate::annotations::{HEALTH_CHECK_PATH, unusable_with};

/// The path of a default backend.
const ROOT: &str = "/";

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

/// A place of a main Ingress, and what the canary has there.
struct Place<'a> {
    host: ServerName,
    path: &'a str,
    kind: PathType,
    backend: &'a IngressBackend,
    /// With the backend.
    field: String,
    /// That the canary is reported at.
    site: String,
}

/// The port of a Service that a canary is a second backend of.
struct Main {
    port: BackendId,
    /// Reason why health checks of the canary's endpoints are not made.
    unchecked: Option<&'static str>,
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
        for place in self.places(ingress, context) {
            let Place {
                host,
                path,
                kind,
                backend,
                field,
                site,
            } = place;
            let Some((service, port)) = self.service_of(backend, context, &field) else {
                continue;
            };
            let reference = ReferenceSite {
                object: context.object.clone(),
                field: format!("{field}.service"),
            };
            let origin = BackendSource::Service(service, port);
            let balance = &context.annotations.backend.balance;
            let backend = self.backend_refs.add_canary(origin, balance, reference);
            self.canaries.push(PendingCanary {
                host,
                path: path.to_owned(),
                kind,
                context: context.clone(),
                field: site,
                backend,
                rules: rules.clone(),
                precedence: self.backend_refs.next_precedence(),
            });
        }
    }

    /// The places of an Ingress. As in ingress-nginx its default backend is a canary of the default backend, beside rules, too.
    fn places<'i>(&mut self, ingress: &'i Ingress, context: &IngressContext) -> Vec<Place<'i>> {
        let spec = ingress.spec.as_ref();
        let default = spec.and_then(|spec| spec.default_backend.as_ref());
        let default = default.map(|backend| Place {
            host: ServerName::CatchAll,
            path: ROOT,
            kind: PathType::Prefix,
            backend,
            field: "spec.defaultBackend".to_owned(),
            site: "spec.defaultBackend".to_owned(),
        });
        let mut places: Vec<_> = default.into_iter().collect();
        let rules = spec.and_then(|spec| spec.rules.as_deref());
        for (position, rule) in rules.unwrap_or_default().iter().enumerate() {
            let field = format!("spec.rules[{position}]");
            let host = rule.host.as_deref().unwrap_or_default();
            let Ok(host) = ServerName::parse(host) else {
                let reason = format!("expected a DNS name, got {:?}", shortened(host));
                self.report_invalid(context, &format!("{field}.host"), reason);
                continue;
            };
            let paths = self.paths_within_limit(rule, None, &field, context);
            for (number, path) in paths.iter().enumerate() {
                let field = format!("{field}.http.paths[{number}]");
                let text = path::checked(path.path.as_deref());
                match (text, PathType::parse(&path.path_type)) {
                    (Ok(text), Ok(kind)) => places.push(Place {
                        host: host.clone(),
                        path: text,
                        kind,
                        backend: &path.backend,
                        site: field.clone(),
                        field: format!("{field}.backend"),
                    }),
                    (Err(reason), _) => {
                        self.report_invalid(context, &format!("{field}.path"), reason);
                    }
                    (_, Err(reason)) => {
                        self.report_invalid(context, &format!("{field}.pathType"), reason);
                    }
                }
            }
        }
        places
    }

    fn report_invalid(&mut self, context: &IngressContext, field: &str, reason: String) {
        let reporter = self.report(&context.object);
        report_unused(reporter, field, reason, Severity::Warning);
    }

    /// Candidates for canaries of backends; what is wrong with one by itself is reported.
    pub(super) fn canary_candidates(&mut self) -> Vec<(ReferencePrecedence, CanaryCandidate)> {
        let mut canary_candidates = Vec::new();
        for pending in std::mem::take(&mut self.canaries) {
            let main = self.main_of(&pending);
            let PendingCanary {
                context,
                field,
                backend,
                rules,
                precedence,
                ..
            } = pending;
            let mut reporter = self.report(&context.object);
            match main {
                Ok(Main { port, unchecked }) => {
                    if let Some(reason) = unchecked {
                        report_unchecked(&mut reporter, reason);
                    }
                    let canary = Canary {
                        backend,
                        https_backend: None,
                        rules,
                        sticky: context.annotations.backend.canary_is_sticky,
                    };
                    let candidate = CanaryCandidate {
                        main: port,
                        canary,
                        object: context.object,
                        field,
                    };
                    canary_candidates.push((precedence, candidate));
                }
                Err(Unused { reason, severity }) => {
                    report_unused(reporter, &field, reason, severity);
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

    fn main_of(&self, pending: &PendingCanary) -> Result<Main, Unused> {
        let PendingCanary {
            host,
            path,
            kind,
            context,
            backend,
            ..
        } = pending;
        let builder = self.builders.get(host);
        let rule = builder.and_then(|builder| main_rule(builder, path, *kind));
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
        let port = without_variant(main);
        if port == *backend {
            return Err(Unused::new("the backend is that of the path itself"));
        }
        let transport = &rule.annotations.backend.transport;
        let is_checked = context.annotations.backend.balance.health.check.is_some();
        let unchecked = unusable_with(transport).filter(|_| is_checked);
        Ok(Main { port, unchecked })
    }
}

/// The rule of a place. Without one of its own, a host has its default backend at `/`.
fn main_rule<'b>(builder: &'b ServerBuilder, path: &str, kind: PathType) -> Option<&'b PathRule> {
    let is_root = path == ROOT && kind == PathType::Prefix;
    let default = builder.default.as_ref().filter(|_| is_root);
    builder.paths.rule(path, kind).or(default)
}

/// A canary has no protocol of its own.
fn report_unchecked(reporter: &mut Reporter<'_>, reason: &str) {
    reporter.report(
        ReasonCode::Unsupported,
        Severity::Warning,
        format!("annotation {HEALTH_CHECK_PATH}"),
        format!("pods are spoken to as the main Ingress says, and {reason}"),
        "endpoints are not checked",
    );
}
