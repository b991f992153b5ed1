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
    BackendSource, CanaryCandidate, Ingress, ObjectRef, ReferencePrecedence, ReferenceSite,
    Reporter, Severity,
};

use super::Assembly;
use super::ingress::DEFAULT_BACKEND;
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
    /// The field that names the backend.
    backend_field: String,
    /// The field of the place as a whole.
    field: String,
}

/// The port of a Service that a canary is a second backend of.
struct Main {
    port: BackendId,
    /// Reason why health checks of the canary's endpoints are not made.
    unchecked: Option<&'static str>,
}

/// Reason why a canary is not used.
struct Unused {
    code: ReasonCode,
    severity: Severity,
    reason: String,
    same_as_ingress_nginx: bool,
}

impl Unused {
    fn new(code: ReasonCode, reason: impl Into<String>) -> Self {
        Unused {
            code,
            severity: Severity::Warning,
            reason: reason.into(),
            same_as_ingress_nginx: false,
        }
    }

    /// Without a main Ingress it is not used in ingress-nginx either.
    fn alone() -> Self {
        Unused {
            severity: Severity::Note,
            same_as_ingress_nginx: true,
            ..Unused::new(
                ReasonCode::InvalidValue,
                "no other Ingress has this host and path",
            )
        }
    }

    /// The path of its main Ingress is closed.
    fn closed(owner: &ObjectRef) -> Self {
        let reason =
            format!("the path of {owner} answers 503, because access control cannot be enforced");
        Unused {
            severity: Severity::Error,
            ..Unused::new(ReasonCode::Conflicted, reason)
        }
    }

    fn report(self, mut reporter: Reporter<'_>, field: &str) {
        reporter
            .report(
                self.code,
                self.severity,
                field,
                self.reason,
                "canary not used",
            )
            .same_as_ingress_nginx = self.same_as_ingress_nginx;
    }
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
                backend_field,
                field,
            } = place;
            let Some((service, port)) = self.service_of(backend, context, &backend_field) else {
                continue;
            };
            let reference = ReferenceSite {
                object: context.object.clone(),
                field: format!("{backend_field}.service"),
            };
            let origin = BackendSource::Service(service, port);
            let balance = &context.annotations.backend.balance;
            let backend = self.backend_refs.add_canary(origin, balance, reference);
            self.canaries.push(PendingCanary {
                host,
                path: path.to_owned(),
                kind,
                context: context.clone(),
                field,
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
            backend_field: DEFAULT_BACKEND.to_owned(),
            field: DEFAULT_BACKEND.to_owned(),
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
                        backend_field: format!("{field}.backend"),
                        field: field.clone(),
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
        let unused = Unused::new(ReasonCode::InvalidValue, reason);
        unused.report(self.report(&context.object), field);
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
                Err(unused) => unused.report(reporter, &field),
            }
        }
        canary_candidates
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
        let found = builder.and_then(|it| Some((it, main_rule(it, path, *kind)?)));
        let (builder, rule) = found.ok_or_else(Unused::alone)?;
        let owner = &rule.owner;
        if rule.target.action == Action::Denied || builder.closed.contains(&owner.key.namespace) {
            return Err(Unused::closed(owner));
        }
        let invalid = |reason| Err(Unused::new(ReasonCode::InvalidValue, reason));
        let Some(main) = rule.target.action.destination().map(Destination::primary) else {
            return invalid("the path has no backend");
        };
        // A namespace that shares a host with others must not take their requests (R12 of the security rules).
        if owner.key.namespace != context.object.key.namespace {
            let reason = format!("path belongs to {owner}, of another namespace");
            return Err(Unused::new(ReasonCode::Conflicted, reason));
        }
        let port = without_variant(main);
        if port == *backend {
            return invalid("the backend is that of the path itself");
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

/// Reports health checks that are not made: a canary has no protocol of its own.
fn report_unchecked(reporter: &mut Reporter<'_>, reason: &str) {
    reporter.report(
        ReasonCode::Unsupported,
        Severity::Warning,
        format!("annotation {HEALTH_CHECK_PATH}"),
        format!("pods are spoken to as the main Ingress says, and {reason}"),
        "endpoints are not checked",
    );
}
