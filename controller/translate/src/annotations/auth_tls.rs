//! Certificates of clients.

use sluice_ir::{
    ClientCertificates, ClientValidation, ReasonCode, RefusalPage, SecretId, VerifyClient,
};
use sluice_pattern::Subject;
use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::Severity;

use super::catalogue::{self, Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;
use crate::snippet::{NamedLocation, is_location_name};
use crate::support::{DataPlane, Support};

const DIFFERENCE: &str = "as in ingress-nginx, of the whole host, which answers 503 where it cannot be enforced; plain http is refused like a missing certificate, and hosts that no rule names answer 503 where a rule without a host or a default backend alone has it, because handshakes for names that no Ingress has are those of all namespaces";
const VERIFY: &str = "auth-tls-verify-client";

pub(super) const GROUP: Group = Group {
    title: "Client certificates",
    annotations: &[
        annotation("auth-tls-secret", Value::Secret, Risk::Medium, Scope::Host)
            .access_control()
            .partly(DIFFERENCE),
        annotation(
            VERIFY,
            Value::OneOf(&["on", "off", "optional", "optional_no_ca"]),
            Risk::Medium,
            Scope::Host,
        )
        .access_control()
        .may_be_blank()
        .partly("with optional_no_ca certificates that are revoked (ca.crl), expired or too deep are let in like those of unknown authorities, as FAILED")
        .nginx(Support::Full),
        annotation("auth-tls-verify-depth", Value::Int, Risk::Low, Scope::Host)
            .access_control()
            .may_be_blank()
            .full(),
        annotation("auth-tls-error-page", Value::Url, Risk::High, Scope::Host)
            .access_control()
            .may_be_blank()
            .partly(
                "URLs, paths, and a location (`@name`) of the server-snippet of the same Ingress that has one return (docs/snippets.md)",
            ),
        annotation(
            "auth-tls-pass-certificate-to-upstream",
            Value::Bool,
            Risk::Low,
            Scope::Host,
        )
        .narrows("upstreams get no client certificate")
        .full(),
        annotation("auth-tls-match-cn", Value::Text, Risk::High, Scope::Host)
            .access_control()
            .partly("what RE2 and PCRE share, and not a pattern that fits every subject"),
    ],
};

/// Verification of client certificates, which may name a location of a snippet.
pub(super) struct Clients {
    certificates: ClientCertificates,
    /// Location with the response to refused clients.
    location: Option<String>,
}

/// Page for refused clients.
enum Page {
    Url(String),
    Location(String),
}

impl Clients {
    /// With the response of the location that it names. Without that location nobody could be told, so paths are closed.
    pub(super) fn with_locations(
        mut self,
        named: &[NamedLocation],
        view: &mut View<'_, '_>,
    ) -> ClientCertificates {
        let Some(name) = &self.location else {
            return self.certificates;
        };
        match named.iter().find(|location| location.name == *name) {
            Some(location) => {
                let response = Box::new(location.response.clone());
                self.certificates.error_page = Some(RefusalPage::Response(response));
            }
            None => {
                let reason = format!(
                    "no location {name} that has one return in the server-snippet of this Ingress"
                );
                view.not_honoured("auth-tls-error-page", reason, "");
            }
        }
        self.certificates
    }
}

/// Without a Secret no authority is trusted, so that no client certificate can be verified.
pub(super) fn clients(view: &mut View<'_, '_>, data_plane: Option<DataPlane>) -> Option<Clients> {
    const SECRET: &str = "auth-tls-secret";
    let asked = view.read(VERIFY, demand);
    let demand = asked.unwrap_or(VerifyClient::Required);
    let depth = view.count("auth-tls-verify-depth").unwrap_or(1).max(1);
    let (error_page, location) = match view.read("auth-tls-error-page", page) {
        None => (None, None),
        Some(Page::Url(url)) => (Some(RefusalPage::Url(url)), None),
        Some(Page::Location(name)) => (None, Some(name)),
    };
    let pass = view.strict(
        "auth-tls-pass-certificate-to-upstream",
        value::bool,
        false,
        false,
    );
    let subject = view.read("auth-tls-match-cn", subject);
    let Some(text) = view.text(SECRET) else {
        let asking = [
            (
                VERIFY,
                asked.is_some_and(|demand| demand != VerifyClient::Off),
            ),
            ("auth-tls-match-cn", subject.is_some()),
        ];
        for (name, _) in asking.into_iter().filter(|(_, asks)| *asks) {
            view.not_honoured(name, "auth-tls-secret is not set", "");
        }
        return None;
    };
    match view
        .secrets
        .authorities(view.references, &view.namespace, text)
    {
        Ok(authorities) => {
            if demand == VerifyClient::Untrusted {
                note_untrusted(view, &authorities, data_plane);
            }
            let ca = authorities;
            let certificates = ClientCertificates {
                validation: ClientValidation { ca, depth },
                verify: demand,
                subject,
                error_page,
                forward_certificate: pass,
            };
            Some(Clients {
                certificates,
                location,
            })
        }
        Err(reason) => {
            view.not_honoured(SECRET, reason, "");
            None
        }
    }
}

/// Envoy tells routes that a certificate was not verified, and not why.
fn note_untrusted(view: &mut View<'_, '_>, ca: &SecretId, data_plane: Option<DataPlane>) {
    let annotation = catalogue::find(VERIFY);
    let partly = annotation.and_then(|annotation| annotation.supports.partly(data_plane));
    let Some(applies_to) = partly else { return };
    let (severity, code, which) = match view.secrets.revokes(ca) {
        true => (
            Severity::Warning,
            ReasonCode::Insecure,
            "revoked certificates (ca.crl of the Secret), and those that are expired or too deep,",
        ),
        false => (
            Severity::Note,
            ReasonCode::PartiallySupported,
            "certificates that are expired or too deep",
        ),
    };
    let reason = applies_to.note(&format!(
        "{which} are let in like those of unknown authorities; ingress-nginx answers 400"
    ));
    let consequence = "pods have to look at ssl-client-verify, which is FAILED for all of them";
    view.note(code, VERIFY, reason, consequence).severity = severity;
}

fn demand(text: &str) -> Parsed<VerifyClient> {
    match text {
        "on" => Ok(VerifyClient::Required),
        "optional" => Ok(VerifyClient::Optional),
        "optional_no_ca" => Ok(VerifyClient::Untrusted),
        "off" => Ok(VerifyClient::Off),
        _ => Err("on, off, optional or optional_no_ca".into()),
    }
}

/// ingress-nginx looks for it in the whole subject, and wants it to begin so all the same.
fn subject(text: &str) -> Parsed<String> {
    if !text.starts_with("CN=") {
        return Err("CN= and a regular expression".into());
    }
    sluice_pattern::check(text, Subject::Text)
        .map_err(|problem| format!("a regular expression that RE2 and PCRE share ({problem})"))?;
    if sluice_pattern::matches_empty(text) {
        return Err("a regular expression that does not fit every subject".into());
    }
    Ok(text.to_owned())
}

fn page(text: &str) -> Parsed<Page> {
    if is_location_name(text) {
        return Ok(Page::Location(text.to_owned()));
    }
    let url = value::url(text)?;
    let begins = ["http://", "https://", "/"]
        .iter()
        .any(|begin| url.starts_with(begin));
    if begins {
        Ok(Page::Url(url))
    } else {
        Err("a URL, a path or the name of a location".into())
    }
}
