//! Certificates of clients: one guard for each host.
//!
//! The first Ingress of the host's own namespace that asks clients for certificates decides for the whole host, as in ingress-nginx.
//! One that asks for the same guard is served behind it, with the page for refused clients and the headers for pods of the first.

use sluice_ir::{ClientCertificates, ClientValidation, ReasonCode, ServerName, VerifyClient};
use sluice_translate_engine::{CLOSED, Severity, closed};

use super::Assembly;
use super::closing::paths_of;
use super::path_rule::{IngressContext, already_set, belongs_to};
use crate::annotations::Reach;

const FIELD: &str = "annotation auth-tls-secret";

/// Decides who comes in.
#[derive(PartialEq, Eq)]
struct Guard<'a> {
    validation: &'a ClientValidation,
    verify: VerifyClient,
    subject: Option<&'a str>,
}

impl<'a> Guard<'a> {
    fn of(clients: &'a ClientCertificates) -> Self {
        // Each by its name: of a field that is new somebody says which it is, or this does not compile.
        let ClientCertificates {
            validation,
            verify,
            subject,
            error_page: _,
            forward_certificate: _,
        } = clients;
        Guard {
            validation,
            verify: *verify,
            subject: subject.as_deref(),
        }
    }
}

impl Assembly<'_> {
    /// Whoever means another guard than the host has is served only behind what it means, so not at all: `false`.
    pub(super) fn apply_client_certificates(
        &mut self,
        name: &ServerName,
        context: &IngressContext,
    ) -> bool {
        let Some(asked) = &context.annotations.clients else {
            return true;
        };
        let is_foreign = self.is_foreign(name, context);
        let builder = self.builders.entry(name.clone()).or_default();
        if builder.clients.is_none() && !is_foreign && *name != ServerName::CatchAll {
            builder.clients = Some((asked.clone(), context.object.clone()));
        }
        let (code, reason, consequence) = match &builder.clients {
            Some((decided, owner)) => {
                let reason = already_set("client certificates", name, owner);
                if Guard::of(decided) == Guard::of(asked) {
                    let unused = unused(asked, decided);
                    self.note_unused(unused, &reason, context);
                    return true;
                }
                (ReasonCode::Conflicted, reason, CLOSED.to_owned())
            }
            // Nobody else guards what it was to guard.
            None => {
                builder.close(context, Reach::Host, FIELD);
                if is_foreign {
                    let reason = belongs_to(name, builder.tenants.owner());
                    let own = paths_of(Some(&context.object.key.namespace), name);
                    (ReasonCode::Conflicted, reason, closed(own))
                } else {
                    let reason = "client certificates need a rule with a host".to_owned();
                    let all = paths_of(None, name);
                    (ReasonCode::Unsupported, reason, closed(all))
                }
            }
        };
        self.report(&context.object)
            .report(code, Severity::Error, FIELD, reason, consequence);
        false
    }

    fn note_unused(&mut self, fields: Vec<&'static str>, reason: &str, context: &IngressContext) {
        for field in fields {
            let mut reporter = self.report(&context.object);
            reporter
                .report(
                    ReasonCode::Conflicted,
                    Severity::Note,
                    field,
                    reason,
                    "not used for this host",
                )
                .same_as_ingress_nginx = true;
        }
    }
}

/// Settings beside the guard that are not those of the host.
fn unused(asked: &ClientCertificates, decided: &ClientCertificates) -> Vec<&'static str> {
    let settings = [
        (
            "annotation auth-tls-error-page",
            asked.error_page == decided.error_page,
        ),
        (
            "annotation auth-tls-pass-certificate-to-upstream",
            asked.forward_certificate == decided.forward_certificate,
        ),
    ];
    let differ = settings.into_iter().filter(|(_, is_same)| !is_same);
    differ.map(|(field, _)| field).collect()
}
