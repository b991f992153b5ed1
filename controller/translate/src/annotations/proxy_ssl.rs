//! Certificates between Sluice and the pods.

use std::iter;

use sluice_ir::{ReasonCode, TlsVersions, UpstreamTls, Verify};
use sluice_syntax::settings::tls::tls_versions;
use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::{Cause, Severity, UpstreamSecret};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use super::{UpstreamSettings, server};
use crate::global::{CIPHERS, cipher_names};
use crate::risk::Risk;
use crate::snippet::Upstream;
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

/// Default of `proxy-ssl-protocols`, which ingress-nginx writes for Secrets with authorities alone.
const OF_AUTHORITIES: TlsVersions = TlsVersions {
    v1_2: true,
    v1_3: false,
};

/// `proxy-ssl-secret`, as ingress-nginx applies it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProxySslSecret {
    /// It is not set.
    #[default]
    Unset,
    /// For the paths of its Ingress: there are no authorities in it.
    OfPaths,
    /// For all paths of the hosts of its Ingress.
    OfHosts {
        /// Pods are verified.
        verifies: bool,
        /// Pods see its certificate.
        presents: bool,
    },
}

/// TLS settings from a Secret. Without one no server name is sent, whatever the other annotations say, as in ingress-nginx; and
/// nothing can be verified, where ingress-nginx serves all the same. `is_spoken`: TLS is used.
pub(super) fn tls(
    view: &mut View<'_, '_>,
    is_spoken: bool,
    served_by: Option<DataPlane>,
) -> (UpstreamTls, ProxySslSecret) {
    let secret = view.text("proxy-ssl-secret");
    let verify = view
        .read("proxy-ssl-verify", value::on_off)
        .unwrap_or_default();
    let depth = view.count("proxy-ssl-verify-depth").unwrap_or(1).max(1);
    let name = view.read("proxy-ssl-name", name);
    let sends_name = view
        .read("proxy-ssl-server-name", value::on_off)
        .unwrap_or_default();
    let versions = |text: &str| tls_versions(text).map(Some);
    let versions = view.strict("proxy-ssl-protocols", versions, None, Some(NEWEST));
    let ciphers = ciphers(view);
    let Some(secret) = secret else {
        if verify && is_spoken {
            let reason = "proxy-ssl-secret is not set";
            view.not_honoured("proxy-ssl-verify", reason, "");
        }
        return (UpstreamTls::default(), ProxySslSecret::Unset);
    };
    let found = match view
        .secrets
        .upstream(view.references, &view.namespace, secret)
    {
        Ok(found) => found,
        Err(reason) => {
            view.not_honoured("proxy-ssl-secret", reason, "");
            return (UpstreamTls::default(), ProxySslSecret::OfPaths);
        }
    };
    let (usual, applied) = by_authorities(&found, verify);
    let verify = verify.then(|| verification(&found, name.as_deref(), depth));
    let verify = verify.and_then(|verify| match verify {
        Ok(verify) => Some(verify),
        Err(reason) => {
            view.not_honoured("proxy-ssl-verify", Cause::invalid_ref(reason), "");
            None
        }
    });
    if verify.is_some() {
        note_depth(view, served_by);
        note_revoked(view, &found);
    }
    let server_name = name.filter(|_| sends_name);
    let tls = UpstreamTls {
        certificate: found.certificate,
        verify,
        server_name,
        versions: versions.unwrap_or(usual),
        ciphers,
    };
    (tls, applied)
}

/// Versions where none are written, and the paths that ingress-nginx applies a Secret to.
fn by_authorities(found: &UpstreamSecret, verifies: bool) -> (TlsVersions, ProxySslSecret) {
    if found.authorities.is_none() {
        return (TlsVersions::default(), ProxySslSecret::OfPaths);
    }
    let presents = found.certificate.is_some();
    (
        OF_AUTHORITIES,
        ProxySslSecret::OfHosts { verifies, presents },
    )
}

/// The error is a report's reason.
fn verification(
    found: &UpstreamSecret,
    name: Option<&str>,
    depth: u32,
) -> Result<Verify, &'static str> {
    let ca = found.authorities.clone();
    Ok(Verify {
        ca: ca.ok_or("expected ca.crt in the Secret of proxy-ssl-secret, got none")?,
        name: name
            .ok_or("proxy-ssl-name is not set, so there is no name to verify")?
            .to_owned(),
        depth,
    })
}

/// ingress-nginx reads `ca.crl` of `auth-tls-secret` alone.
fn note_revoked(view: &mut View<'_, '_>, found: &UpstreamSecret) {
    const REASON: &str = "the Secret has ca.crl, which ingress-nginx does not read for pods: none with a revoked certificate is asked, and \
                          none at all once the list has expired";
    if found.revokes {
        view.note(
            ReasonCode::PartiallySupported,
            "proxy-ssl-secret",
            REASON,
            "served with this difference",
        );
    }
}

fn note_depth(view: &mut View<'_, '_>, served_by: Option<DataPlane>) {
    const DEPTH: &str = "proxy-ssl-verify-depth";
    let limits = view.text(DEPTH).is_some();
    if let Some(applies_to) = VERIFY_DEPTH.partly(served_by).filter(|_| limits) {
        view.note(
            ReasonCode::PartiallySupported,
            DEPTH,
            applies_to.note("chains of any length that lead to ca.crt are taken"),
            "served with this difference",
        );
    }
}

impl UpstreamSettings {
    /// Tells pods a name, and offers them versions and ciphers, as a snippet says, where TLS is spoken with them.
    pub(super) fn speak_tls(&mut self, upstream: &mut Upstream, view: &mut View<'_, '_>) {
        let name = upstream.server_name.take();
        let versions = upstream.versions.take();
        let ciphers = upstream.ciphers.take();
        let ciphers = ciphers.map(|written| ciphers_of_snippet(&written, view));
        let transports = iter::once(&mut self.transport).chain(&mut self.for_https);
        for tls in transports.filter_map(|transport| transport.tls.as_mut()) {
            tls.server_name = name.clone().or(tls.server_name.take());
            tls.versions = versions.unwrap_or(tls.versions);
            tls.ciphers = ciphers.clone().unwrap_or(std::mem::take(&mut tls.ciphers));
        }
    }
}

/// Ciphers that a snippet names; none: those of the data plane.
fn ciphers_of_snippet(written: &str, view: &mut View<'_, '_>) -> Vec<String> {
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
