//! What holds for a whole host.

use sluice_ir::ServerName;

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value;
use super::view::View;
use crate::global::{CIPHERS, cipher_names};
use crate::support::Support;

pub(super) const GROUP: Group = Group {
    title: "Hosts and TLS",
    annotations: &[
        annotation("server-alias", Value::List, Risk::High, Scope::Ingress)
            .partly("names and one-label wildcards; regular expressions are reported"),
        annotation("ssl-ciphers", Value::Text, Risk::Low, Scope::Ingress)
            .instead("use ssl-ciphers of the ConfigMap, for all hosts")
            .nginx(Support::Partly("ciphers with ephemeral ECDH or AES; TLS 1.3 has its own")),
        annotation("ssl-prefer-server-ciphers", Value::Bool, Risk::Low, Scope::Ingress)
            .needless("the order of the server's ciphers always counts")
            .nginx(Support::Full),
        annotation("ssl-passthrough", Value::Bool, Risk::Low, Scope::Ingress).harmless(&["false"]),
    ],
};

/// Other names for the hosts of an Ingress. One that is not understood is reported, and the others hold.
pub(super) fn aliases(view: &mut View<'_, '_>) -> Vec<ServerName> {
    let Some(text) = view.text("server-alias") else { return Vec::new() };
    let mut aliases = Vec::new();
    for alias in value::list(text) {
        match ServerName::parse(alias) {
            Ok(name) if !aliases.contains(&name) => aliases.push(name),
            Ok(_) => {}
            Err(_) => view.refuse_part("server-alias", "names of hosts, or *. and a name", alias),
        }
    }
    aliases
}

/// Ciphers of TLS 1.2. One that is not known is reported, and the others hold.
pub(super) fn ciphers(view: &mut View<'_, '_>) -> Vec<String> {
    let Some(text) = view.text("ssl-ciphers") else { return Vec::new() };
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        cipher_names(text).partition(|name| CIPHERS.contains(name));
    for name in unknown {
        view.refuse_part("ssl-ciphers", "ciphers of TLS 1.2 with ephemeral ECDH or AES", name);
    }
    known.into_iter().map(str::to_owned).collect()
}

pub(super) fn prefers_its_ciphers(view: &mut View<'_, '_>) -> Option<bool> {
    view.read("ssl-prefer-server-ciphers", value::bool)
}
