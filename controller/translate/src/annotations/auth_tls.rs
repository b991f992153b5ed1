//! Certificates of clients.

use sluice_ir::{ClientCertificates, ClientValidation, RefusalPage, VerifyClient};
use sluice_pattern::Subject;
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;
use crate::snippet::{NamedLocation, is_location_name};

const DIFFERENCE: &str = "as in ingress-nginx, of the whole host; plain http is refused like a missing certificate, and paths of a rule without a host answer 503, because handshakes for names that no Ingress has are those of all namespaces";

pub(super) const GROUP: Group = Group {
    title: "Client certificates",
    annotations: &[
        annotation("auth-tls-secret", Value::Secret, Risk::Medium, Scope::Host)
            .access_control()
            .partly(DIFFERENCE),
        annotation(
            "auth-tls-verify-client",
            Value::OneOf(&["on", "off", "optional", "optional_no_ca"]),
            Risk::Medium,
            Scope::Host,
        )
        .access_control()
        .may_be_blank()
        .full(),
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
pub(super) fn clients(view: &mut View<'_, '_>) -> Option<Clients> {
    const SECRET: &str = "auth-tls-secret";
    let asked = view.read("auth-tls-verify-client", demand);
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
                "auth-tls-verify-client",
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
            let trust = ClientValidation {
                ca: authorities,
                depth,
            };
            let certificates = ClientCertificates {
                validation: trust,
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
