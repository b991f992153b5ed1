//! Settings of a host as a whole.

use std::collections::BTreeSet;

use sluice_ir::{ReasonCode, ServerName};
use sluice_syntax::server_alias::alias_entries;
use sluice_syntax::{shortened, value};

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
            .partly("names, one-label wildcards, and patterns of at most 100 names or of any label before a name ([^.]+, [a-z0-9-]+ or .+, and no narrower class such as [a-z]+); others are reported"),
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

/// Another name for the hosts of an Ingress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alias {
    pub(crate) name: ServerName,
    /// It comes from a pattern, which nginx tries after all names and wildcards.
    pub(crate) by_pattern: bool,
}

/// Other names for the hosts of an Ingress. One that is not understood is reported, and the others hold.
pub(super) fn aliases(view: &mut View<'_, '_>) -> Vec<Alias> {
    let Some(text) = view.text("server-alias") else {
        return Vec::new();
    };
    let (mut aliases, mut known) = (Vec::new(), BTreeSet::new());
    // A name that is written comes before those of patterns.
    let (patterns, names): (Vec<_>, Vec<_>) = alias_entries(text)
        .into_iter()
        .partition(|entry| entry.is_pattern);
    for entry in names.into_iter().chain(patterns) {
        let new = match entry.names {
            Ok(names) => names.into_iter().filter(|name| !known.contains(name)),
            Err(expected) => {
                view.reject_part("server-alias", &expected, entry.text);
                continue;
            }
        };
        let new: Vec<_> = new.collect();
        if known.len() + new.len() > MAX_ALIASES {
            let expected =
                format!("at most {MAX_ALIASES} names; this one and those after it are more");
            view.reject_part("server-alias", &expected, entry.text);
            break;
        }
        if entry.takes_deeper_names {
            note_deeper_names(view, entry.text);
        }
        known.extend(new.iter().cloned());
        aliases.extend(new.into_iter().map(|name| Alias {
            name,
            by_pattern: entry.is_pattern,
        }));
    }
    view.add_hosts(&known);
    aliases
}

fn note_deeper_names(view: &mut View<'_, '_>, pattern: &str) {
    let reason = format!(
        "a wildcard has one label, {:?} takes more",
        shortened(pattern)
    );
    view.reporter.warn_unchanged(
        ReasonCode::Unsupported,
        "annotation server-alias",
        reason,
        "names with one label in the place of the wildcard are served",
    );
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
