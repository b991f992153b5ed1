//! What holds for a whole host.

use sluice_ir::ServerName;

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value;
use super::view::View;

pub(super) const GROUP: Group = Group {
    title: "Hosts and TLS",
    annotations: &[
        annotation("server-alias", Value::List, Risk::High, Scope::Ingress)
            .partly("names and one-label wildcards; regular expressions are reported"),
        annotation("ssl-ciphers", Value::Text, Risk::Low, Scope::Ingress)
            .instead("use ssl-ciphers of the ConfigMap, for all hosts"),
        annotation("ssl-prefer-server-ciphers", Value::Bool, Risk::Low, Scope::Ingress)
            .needless("the order of the server's ciphers always counts"),
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
