//! From a rule's backend to where a location leads.

use k8s_openapi::api::networking::v1::{IngressBackend, IngressServiceBackend};
use sluice_ir::{Action, BackendId, Place, Transport};

use super::Assembly;
use super::claim::{Author, Lead};
use crate::backends::{Origin, Port, Terms, Use};
use crate::object::{is_dns_name, shortened};
use crate::outside::Target;
use crate::{Kind, ObjectKey, ObjectRef, Severity};

impl Assembly<'_> {
    /// What a location does, as far as its backend and the annotations say; `None` when there is nothing to serve.
    pub(super) fn lead(&mut self, backend: &IngressBackend, author: &Author, field: &str) -> Option<Lead> {
        let annotations = &author.annotations;
        if annotations.denied {
            return Some(Lead::to(Action::Denied));
        }
        if let Some(redirect) = &annotations.redirect {
            // Nothing is asked of the backend, which often does not exist.
            return Some(Lead::to(Action::Redirect(redirect.clone())));
        }
        let (service, port) = self.service_of(backend, author, field)?;
        let place = Place {
            namespace: author.object.key.namespace.clone(),
            ingress: author.object.key.name.clone(),
            service: service.name.clone(),
            port: port.to_string(),
        };
        let for_https = annotations.backend.for_https.as_ref();
        let for_https = for_https.map(|transport| {
            self.backend(service.clone(), port.clone(), transport, author, format!("{field}.service"))
        });
        let transport = &annotations.backend.transport;
        let id = self.backend(service, port, transport, author, format!("{field}.service"));
        let error_service = self.error_service(author);
        Some(Lead { action: Action::Forward(id), for_https, error_service, place })
    }

    /// The Service and the port that a rule names, when they can be names.
    pub(super) fn service_of(
        &mut self,
        backend: &IngressBackend,
        author: &Author,
        field: &str,
    ) -> Option<(ObjectKey, Port)> {
        let Some(service) = &backend.service else {
            let reason = "expected service with a name and a port, got a resource or nothing";
            self.report(&author.object).say(Severity::Error, field, reason, "path not served");
            return None;
        };
        match checked(service) {
            Ok(port) => {
                Some((ObjectKey::new(author.object.key.namespace.clone(), service.name.clone()), port))
            }
            Err((part, reason)) => {
                let field = format!("{field}.service.{part}");
                self.report(&author.object).say(Severity::Error, field, reason, "path not served");
                None
            }
        }
    }

    pub(super) fn backend(
        &mut self,
        service: ObjectKey,
        port: Port,
        transport: &Transport,
        author: &Author,
        field: String,
    ) -> BackendId {
        let annotations = &author.annotations;
        let attempts = annotations.policy.retries.attempts;
        let terms = Terms { transport, balance: &annotations.backend.balance, attempts, routes: true };
        let as_canary = annotations.canary.is_some();
        let usage = Use { object: author.object.clone(), field, as_canary };
        self.uses.name(Origin::Service(service, port), terms, usage)
    }

    /// Who is asked when the pods are missing. ingress-nginx: one that does not exist is ignored.
    fn error_service(&mut self, author: &Author) -> Option<BackendId> {
        const FIELD: &str = "annotation default-backend";
        let name = author.annotations.errors.service.clone()?;
        let service = ObjectKey::new(author.object.key.namespace.clone(), name);
        if !self.seen.has_service(&service) {
            let missing = ObjectRef { kind: Kind::Service, key: service };
            self.report(&author.object).say_missing(missing, Severity::Warning, FIELD, "annotation ignored");
            return None;
        }
        let usual = self.globals.transport.clone();
        Some(self.backend(service, Port::First, &usual, author, FIELD.to_owned()))
    }

    /// What an annotation's URL leads to: a Service of the cluster, or a host outside.
    pub(super) fn target(&mut self, target: &Target, author: &Author, annotation: &str) -> BackendId {
        let origin = match target.service() {
            Some((service, port)) if self.seen.has_service(&service) => Origin::Service(service, port),
            _ => Origin::Outside(sluice_ir::Outside { host: target.host.clone(), port: target.port }),
        };
        let transport = target.transport(self.globals.transport.connect_timeout);
        let attempts = self.globals.retries.attempts;
        let terms = Terms { transport: &transport, balance: &self.globals.balance, attempts, routes: false };
        let field = format!("annotation {annotation}");
        let usage = Use { object: author.object.clone(), field, as_canary: false };
        self.uses.name(origin, terms, usage)
    }
}

/// The error names the part that is wrong.
fn checked(service: &IngressServiceBackend) -> Result<Port, (&'static str, String)> {
    if !is_dns_name(&service.name) {
        return Err(("name", format!("expected the name of a Service, got {:?}", shortened(&service.name))));
    }
    port(service).ok_or_else(|| ("port", "expected a number or a name, got neither".to_owned()))
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
