//! From a rule's backend to what a location does.

use k8s_openapi::api::networking::v1::{IngressBackend, IngressServiceBackend};
use sluice_ir::Action;

use super::Assembly;
use super::claim::Author;
use crate::backends::{Port, Terms, Use};
use crate::object::{is_dns_name, shortened};
use crate::{ObjectKey, Severity};

impl Assembly<'_> {
    pub(super) fn action(
        &mut self,
        backend: &IngressBackend,
        author: &Author,
        field: String,
    ) -> Option<Action> {
        let annotations = &author.annotations;
        if annotations.denied {
            return Some(Action::Denied);
        }
        if let Some(redirect) = &annotations.redirect {
            // Nothing is asked of the backend, which often does not exist.
            return Some(Action::Redirect(redirect.clone()));
        }
        let Some(service) = &backend.service else {
            let reason = "expected a service, got a resource or nothing";
            self.report(&author.object).say(Severity::Error, field, reason, "path not served");
            return None;
        };
        let port = match checked(service) {
            Ok(port) => port,
            Err((part, reason)) => {
                let field = format!("{field}.service.{part}");
                self.report(&author.object).say(Severity::Error, field, reason, "path not served");
                return None;
            }
        };
        let key = ObjectKey::new(author.object.key.namespace.clone(), service.name.clone());
        let usage = Use { object: author.object.clone(), field: format!("{field}.service") };
        let terms =
            Terms { transport: &annotations.transport, attempts: annotations.policy.retries.attempts };
        Some(Action::Forward(self.registry.use_of(key, port, terms, usage)))
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
