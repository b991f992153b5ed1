//! Certificates of clients.

use sluice_ir::{ClientCertificates, Demand, Trust};

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value::{self, Parsed};
use super::view::View;
use crate::support::Support;

const BY_HTTP: &str =
    "as in ingress-nginx, of the whole host; plain http is refused like a missing certificate";

const NGINX: Support =
    Support::Partly("as in ingress-nginx, of the whole host; without a host, paths answer 503");

pub(super) const GROUP: Group = Group {
    title: "Client certificates",
    annotations: &[
        annotation("auth-tls-secret", Value::Secret, Risk::Medium, Scope::Location)
            .guard()
            .partly(BY_HTTP)
            .nginx(NGINX),
        annotation(
            "auth-tls-verify-client",
            Value::OneOf(&["on", "off", "optional", "optional_no_ca"]),
            Risk::Medium,
            Scope::Location,
        )
        .guard()
        .full(),
        annotation("auth-tls-verify-depth", Value::Int, Risk::Low, Scope::Location).guard().full(),
        annotation("auth-tls-error-page", Value::Url, Risk::High, Scope::Location)
            .guard()
            .partly("URLs and paths; a named location of nginx closes the paths"),
        annotation("auth-tls-pass-certificate-to-upstream", Value::Bool, Risk::Low, Scope::Location).full(),
        annotation("auth-tls-match-cn", Value::Text, Risk::High, Scope::Location)
            .guard()
            .instead("compare ssl-client-subject-dn in the pods"),
    ],
};

/// Without a Secret nothing is asked, whatever the other annotations say.
pub(super) fn clients(view: &mut View<'_, '_>) -> Option<ClientCertificates> {
    const SECRET: &str = "auth-tls-secret";
    let demand = view.read("auth-tls-verify-client", demand).unwrap_or(Demand::Required);
    let depth = view.read("auth-tls-verify-depth", value::count).unwrap_or(1).max(1);
    let error_page = view.read("auth-tls-error-page", page);
    let pass = view.flag("auth-tls-pass-certificate-to-upstream");
    let text = view.text(SECRET)?;
    match view.secrets.authorities(view.references, &view.namespace, text) {
        Ok(authorities) => {
            let trust = Trust { authorities, depth };
            Some(ClientCertificates { trust, demand, error_page, pass })
        }
        Err(reason) => {
            view.without(SECRET, reason, "");
            None
        }
    }
}

fn demand(text: &str) -> Parsed<Demand> {
    match text {
        "on" => Ok(Demand::Required),
        "optional" => Ok(Demand::Optional),
        "optional_no_ca" => Ok(Demand::Untrusted),
        "off" => Ok(Demand::Off),
        _ => Err("on, off, optional or optional_no_ca".into()),
    }
}

fn page(text: &str) -> Parsed<String> {
    let url = value::url(text)?;
    let begins = ["http://", "https://", "/"].iter().any(|begin| url.starts_with(begin));
    if begins { Ok(url) } else { Err("a URL or a path".into()) }
}
