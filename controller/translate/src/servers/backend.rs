//! Route targets of the backends that rules and annotations name.

use k8s_openapi::api::networking::v1::{IngressBackend, IngressServiceBackend};
use sluice_ir::{Action, BackendId, Copies, ReasonCode, Transport};
use sluice_syntax::{DnsName, is_dns_name, shortened};
use sluice_translate_engine::{
    BackendSettings, BackendSource, CLOSED, ExternalHost, Kind, ObjectKey, ObjectRef, Port,
    ReferenceSite, Severity, Traffic, UpstreamUrl,
};

use super::Assembly;
use super::path_rule::{IngressContext, RouteTarget};
use crate::route_names::RouteNames;

impl Assembly<'_> {
    /// Action of a route, from its backend and the annotations; `None` when there is nothing to serve, and nobody is
    /// kept out.
    pub(super) fn route_target(
        &mut self,
        backend: &IngressBackend,
        context: &IngressContext,
        field: &str,
    ) -> Option<RouteTarget> {
        let annotations = &context.annotations;
        if annotations.denied {
            return Some(RouteTarget::from_action(Action::Denied));
        }
        if let Some(redirect) = &annotations.redirect {
            // Nothing is asked of the backend, which often does not exist.
            return Some(RouteTarget::from_action(Action::Redirect(
                redirect.clone().into(),
            )));
        }
        let Some((service, port)) = self.service_of(backend, context, field) else {
            return annotations
                .restricts_access()
                .then(|| RouteTarget::from_action(Action::Denied));
        };
        let names = Some(RouteNames::new(&context.object.key, &service, &port));
        let for_https = annotations.backend.for_https.as_ref();
        let for_https = for_https.map(|transport| {
            self.backend(
                service.clone(),
                port.clone(),
                transport,
                context,
                format!("{field}.service"),
            )
        });
        let transport = &annotations.backend.transport;
        let id = self.backend(
            service,
            port,
            transport,
            context,
            format!("{field}.service"),
        );
        let error_service = self.error_service(context);
        Some(RouteTarget {
            action: Action::to(id),
            for_https,
            error_service,
            names,
        })
    }

    /// Target of the paths of a host that no rule of it matches.
    pub(super) fn unmatched_target(&self, context: &IngressContext) -> RouteTarget {
        let annotations = &context.annotations;
        RouteTarget::from_action(match (&annotations.redirect, self.fallback) {
            _ if annotations.denied => Action::Denied,
            (Some(redirect), _) => Action::Redirect(redirect.clone().into()),
            (None, Some(fallback)) => Action::to(fallback.clone()),
            (None, None) => Action::Respond(404),
        })
    }

    /// The Service and the port that a rule names, when they can be names.
    pub(super) fn service_of(
        &mut self,
        backend: &IngressBackend,
        context: &IngressContext,
        field: &str,
    ) -> Option<(ObjectKey, Port)> {
        let guards = context.annotations.restricts_access();
        let consequence = if guards { CLOSED } else { "path not served" };
        let Some(service) = &backend.service else {
            let reason = "expected service with a name and a port, got a resource or nothing";
            self.report(&context.object).report(
                ReasonCode::Unsupported,
                Severity::Error,
                field,
                reason,
                consequence,
            );
            return None;
        };
        match checked(service) {
            Ok(port) => Some((
                ObjectKey::new(context.object.key.namespace.clone(), service.name.clone()),
                port,
            )),
            Err((part, reason)) => {
                let field = format!("{field}.service.{part}");
                self.report(&context.object).report(
                    ReasonCode::InvalidValue,
                    Severity::Error,
                    field,
                    reason,
                    consequence,
                );
                None
            }
        }
    }

    pub(super) fn backend(
        &mut self,
        service: ObjectKey,
        port: Port,
        transport: &Transport,
        context: &IngressContext,
        field: String,
    ) -> BackendId {
        let annotations = &context.annotations;
        let attempts = annotations.policy.retries.attempts;
        let settings = BackendSettings {
            transport,
            balance: &annotations.backend.balance,
            attempts,
            traffic: Traffic::Routes,
        };
        let site = ReferenceSite {
            object: context.object.clone(),
            field,
        };
        self.backend_refs
            .add(BackendSource::Service(service, port), settings, site)
    }

    /// Error service for missing endpoints. As in ingress-nginx, one that does not exist is ignored.
    fn error_service(&mut self, context: &IngressContext) -> Option<BackendId> {
        const FIELD: &str = "annotation default-backend";
        let name = context.annotations.errors.service.clone()?;
        let service = ObjectKey::new(context.object.key.namespace.clone(), name);
        if !self.tracker.has_service(&service) {
            let missing = ObjectRef {
                kind: Kind::Service,
                key: service,
            };
            self.report(&context.object).report_missing(
                missing,
                Severity::Warning,
                FIELD,
                "annotation ignored",
            );
            return None;
        }
        let usual = self.globals.upstream.transport.clone();
        Some(self.backend(service, Port::First, &usual, context, FIELD.to_owned()))
    }

    /// Backend of an annotation's URL: a Service of the cluster, or an external host.
    pub(super) fn target(
        &mut self,
        target: &UpstreamUrl,
        object: &ObjectRef,
        annotation: &str,
        copies: Option<Copies>,
    ) -> BackendId {
        let origin = match target.service() {
            Some((service, port)) if self.tracker.has_service(&service) => {
                BackendSource::Service(service, port)
            }
            _ => BackendSource::External(ExternalHost {
                name: DnsName::from(&target.host),
                port: target.port,
            }),
        };
        let transport = Transport {
            copies,
            ..target.transport(self.globals.upstream.transport.connect_timeout)
        };
        let attempts = self.globals.upstream.retries.attempts;
        let settings = BackendSettings {
            transport: &transport,
            balance: &self.globals.upstream.balance,
            attempts,
            traffic: Traffic::Other,
        };
        let field = format!("annotation {annotation}");
        let site = ReferenceSite {
            object: object.clone(),
            field,
        };
        self.backend_refs.add(origin, settings, site)
    }
}

/// The error names the part that is wrong.
fn checked(service: &IngressServiceBackend) -> Result<Port, (&'static str, String)> {
    if !is_dns_name(&service.name) {
        return Err((
            "name",
            format!(
                "expected the name of a Service, got {:?}",
                shortened(&service.name)
            ),
        ));
    }
    port(service).ok_or_else(|| {
        (
            "port",
            "expected a number or a name, got neither".to_owned(),
        )
    })
}

fn port(service: &IngressServiceBackend) -> Option<Port> {
    let port = service.port.as_ref()?;
    match (port.number, port.name.as_deref()) {
        (Some(number), _) => Some(Port::Number(number)),
        (None, Some(name)) if is_port_name(name) => Some(Port::Name(name.to_owned())),
        _ => None,
    }
}

/// A port name becomes part of a backend's id.
fn is_port_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    (1..=63).contains(&name.len()) && name.bytes().all(allowed)
}
