//! Certificates between Sluice and the pods.

use sluice_ir::{ReasonCode, TlsVersions, UpstreamTls, Verify};
use sluice_syntax::settings::tls::tls_versions;
use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::{Cause, Severity};

use super::catalogue::{Group, Scope, Value, annotation};
use super::server;
use super::view::View;
use crate::global::{CIPHERS, cipher_names};
use crate::risk::Risk;
use crate::support::{DataPlane, Support, Supports};

/// OpenSSL's word for its own ciphers, and ingress-nginx's default.
const DEFAULT: &str = "DEFAULT";

/// Measured: Envoy 1.40 takes chains of any length from upstreams, whatever its own setting says.
const VERIFY_DEPTH: Supports = Supports {
    envoy: Support::Partly("chains of any length that lead to `ca.crt` are taken"),
    nginx: Support::Full,
};

pub(super) const GROUP: Group = Group {
    title: "Upstream TLS",
    annotations: &[
        annotation(
            "proxy-ssl-secret",
            Value::Secret,
            Risk::Medium,
            Scope::Ingress,
        )
        .access_control()
        .full(),
        annotation("proxy-ssl-verify", Value::OnOff, Risk::Low, Scope::Ingress)
            .access_control()
            .full(),
        annotation(
            "proxy-ssl-verify-depth",
            Value::Int,
            Risk::Low,
            Scope::Ingress,
        )
        .access_control()
        .may_be_blank()
        .supported(VERIFY_DEPTH),
        annotation("proxy-ssl-name", Value::Text, Risk::High, Scope::Ingress)
            .access_control()
            .full(),
        annotation(
            "proxy-ssl-server-name",
            Value::OnOff,
            Risk::Low,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "proxy-ssl-ciphers",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .partly("ciphers with ephemeral ECDH or AES that BoringSSL has; TLS 1.3 has its own")
        .nginx(Support::Partly(
            "ciphers with ephemeral ECDH or AES; TLS 1.3 has its own",
        ))
        .harmless(&[DEFAULT]),
        annotation(
            "proxy-ssl-protocols",
            Value::List,
            Risk::Low,
            Scope::Ingress,
        )
        .narrows("upstreams are reached with TLS 1.3 only")
        .full(),
    ],
};

const SNIPPET: &str = "configuration-snippet";

const NEWEST: TlsVersions = TlsVersions {
    v1_2: false,
    v1_3: true,
};

/// TLS settings from a Secret. Without one no server name is sent, whatever the other annotations say, as in ingress-nginx; and
/// nothing can be verified, where ingress-nginx serves all the same. `is_spoken`: TLS is used.
pub(super) fn tls(
    view: &mut View<'_, '_>,
    is_spoken: bool,
    served_by: Option<DataPlane>,
) -> UpstreamTls {
    let secret = view.text("proxy-ssl-secret");
    let verify = view
        .read("proxy-ssl-verify", value::on_off)
        .unwrap_or_default();
    let depth = view.count("proxy-ssl-verify-depth").unwrap_or(1).max(1);
    let name = view.read("proxy-ssl-name", name);
    let sends_name = view
        .read("proxy-ssl-server-name", value::on_off)
        .unwrap_or_default();
    let usual = TlsVersions::default();
    let versions = view.strict("proxy-ssl-protocols", tls_versions, usual, NEWEST);
    let ciphers = ciphers(view);
    let Some(secret) = secret else {
        if verify && is_spoken {
            let reason = "proxy-ssl-secret is not set";
            view.not_honoured("proxy-ssl-verify", reason, "");
        }
        return UpstreamTls::default();
    };
    let found = match view
        .secrets
        .upstream(view.references, &view.namespace, secret)
    {
        Ok(found) => found,
        Err(reason) => {
            view.not_honoured("proxy-ssl-secret", reason, "");
            return UpstreamTls::default();
        }
    };
    let verify = match (verify, found.authorities, &name) {
        (false, ..) => None,
        (true, Some(ca), Some(name)) => Some(Verify {
            ca,
            name: name.clone(),
            depth,
        }),
        (true, authorities, _) => {
            let reason = match authorities {
                None => "expected ca.crt in the Secret of proxy-ssl-secret, got none",
                Some(_) => "proxy-ssl-name is not set, so there is no name to verify",
            };
            view.not_honoured("proxy-ssl-verify", Cause::invalid_ref(reason), "");
            None
        }
    };
    note_depth(view, verify.is_some(), served_by);
    let server_name = name.filter(|_| sends_name);
    UpstreamTls {
        certificate: found.certificate,
        verify,
        server_name,
        versions,
        ciphers,
    }
}

fn note_depth(view: &mut View<'_, '_>, verifies: bool, served_by: Option<DataPlane>) {
    const DEPTH: &str = "proxy-ssl-verify-depth";
    let limits = verifies && view.text(DEPTH).is_some();
    if let Some(applies_to) = VERIFY_DEPTH.partly(served_by).filter(|_| limits) {
        view.note(
            ReasonCode::PartiallySupported,
            DEPTH,
            applies_to.note("chains of any length that lead to ca.crt are taken"),
            "served with this difference",
        );
    }
}

/// Ciphers that a snippet names; none: those of the data plane.
pub(super) fn ciphers_of_snippet(written: &str, view: &mut View<'_, '_>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    let mut has_others = false;
    for cipher in cipher_names(written).filter(|_| written != DEFAULT) {
        if !CIPHERS.contains(&cipher) {
            has_others = true;
        } else if !known.iter().any(|earlier| earlier == cipher) {
            known.push(cipher.to_owned());
        }
    }
    if has_others {
        let reason = "proxy_ssl_ciphers: of the names in it pods are offered those of ciphers of TLS 1.2 with ephemeral ECDH or AES; without \
                      one, the data plane's own";
        let consequence = "served with this difference";
        view.note(ReasonCode::PartiallySupported, SNIPPET, reason, consequence)
            .severity = Severity::Warning;
    }
    known
}

/// Those of the data plane where no other is named.
fn ciphers(view: &mut View<'_, '_>) -> Vec<String> {
    if view.text("proxy-ssl-ciphers") == Some(DEFAULT) {
        return Vec::new();
    }
    server::known_ciphers(view, "proxy-ssl-ciphers")
}

fn name(text: &str) -> Parsed<String> {
    let name = sluice_ir::Hostname::parse(text).map_err(|_| "the name of a host")?;
    Ok(name.as_str().to_owned())
}
