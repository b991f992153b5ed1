//! Settings of a host as a whole.

use std::collections::BTreeSet;

use sluice_ir::{ReasonCode, ServerName};
use sluice_syntax::value;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::Options;
use crate::global::{CIPHERS, cipher_names};
use crate::risk::Risk;
use crate::support::Support;

pub(super) const GROUP: Group = Group {
    title: "Hosts and TLS",
    annotations: &[
        annotation("server-alias", Value::List, Risk::High, Scope::Host)
            .partly("names and one-label wildcards; regular expressions are reported"),
        annotation("ssl-ciphers", Value::Text, Risk::Low, Scope::Host)
            .partly("ciphers with ephemeral ECDH or AES that BoringSSL has, for rules with a host; TLS 1.3 has its own")
            .nginx(Support::Partly("ciphers with ephemeral ECDH or AES; TLS 1.3 has its own")),
        annotation("ssl-prefer-server-ciphers", Value::Bool, Risk::Low, Scope::Host)
            .needless("the server's cipher order is always preferred")
            .nginx(Support::Full),
        annotation("ssl-passthrough", Value::Bool, Risk::Low, Scope::Host)
            .partly("with --enable-ssl-passthrough; from the namespace of the path / only")
            .nginx(Support::Partly("with --enable-ssl-passthrough and nginx's stream module; not beside use-forwarded-headers, unless use-proxy-protocol is on (else paths answer 503); from the namespace of the path / only")),
    ],
};

/// More other names in one Ingress than this are not used: each is a copy of all routes of its host in Envoy.
pub(crate) const MAX_ALIASES: usize = 100;

/// Other names for the hosts of an Ingress. One that is not understood is reported, and the others hold.
pub(super) fn aliases(view: &mut View<'_, '_>) -> Vec<ServerName> {
    let Some(text) = view.text("server-alias") else {
        return Vec::new();
    };
    let (mut aliases, mut known) = (Vec::new(), BTreeSet::new());
    for alias in value::list(text) {
        match ServerName::parse(alias) {
            Ok(name) if known.contains(&name) => {}
            Ok(_) if known.len() == MAX_ALIASES => {
                let expected =
                    format!("at most {MAX_ALIASES} names; this one and those after it are more");
                view.reject_part("server-alias", &expected, alias);
                break;
            }
            Ok(name) => {
                known.insert(name.clone());
                aliases.push(name);
            }
            Err(_) => view.reject_part("server-alias", "names of hosts, or *. and a name", alias),
        }
    }
    aliases
}

/// The ciphers of TLS 1.2 of this annotation. One that is not known is reported, and the others hold.
pub(super) fn known_ciphers(view: &mut View<'_, '_>, name: &'static str) -> Vec<String> {
    let Some(text) = view.text(name) else {
        return Vec::new();
    };
    let mut known: Vec<String> = Vec::new();
    for cipher in cipher_names(text) {
        if !CIPHERS.contains(&cipher) {
            view.reject_part(
                name,
                "ciphers of TLS 1.2 with ephemeral ECDH or AES",
                cipher,
            );
        } else if !known.iter().any(|earlier| earlier == cipher) {
            known.push(cipher.to_owned());
        }
    }
    known
}

pub(super) fn prefer_server_ciphers(view: &mut View<'_, '_>) -> Option<bool> {
    view.read("ssl-prefer-server-ciphers", value::bool)
}

/// True if the TLS of its hosts ends at the upstream.
pub(super) fn passthrough(view: &mut View<'_, '_>, options: &Options) -> bool {
    let asked = view.flag("ssl-passthrough");
    if asked && !options.ssl_passthrough {
        let reason = "--enable-ssl-passthrough is off";
        let consequence = "TLS of its hosts ends at the data plane";
        view.reporter.warn_unchanged(
            ReasonCode::NotPermitted,
            "annotation ssl-passthrough",
            reason,
            consequence,
        );
    }
    asked && options.ssl_passthrough
}
