//! What holds for a whole host.

use sluice_ir::ServerName;

use super::catalogue::{Group, Risk, Scope, Support, Value, annotation};
use super::value;
use super::view::View;
use crate::Options;

pub(super) const GROUP: Group = Group {
    title: "Hosts and TLS",
    annotations: &[
        annotation("server-alias", Value::List, Risk::High, Scope::Ingress)
            .partly("names and one-label wildcards; regular expressions are reported"),
        annotation("ssl-ciphers", Value::Text, Risk::Low, Scope::Ingress)
            .instead("use ssl-ciphers of the ConfigMap, for all hosts"),
        annotation("ssl-prefer-server-ciphers", Value::Bool, Risk::Low, Scope::Ingress)
            .needless("the order of the server's ciphers always counts"),
        annotation("ssl-passthrough", Value::Bool, Risk::Low, Scope::Ingress)
            .partly("with --enable-ssl-passthrough; from the namespace of the path / only")
            .nginx(Support::Reported("TLS ends at nginx, also with --enable-ssl-passthrough")),
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

/// Whether the TLS of its hosts ends at the pods.
pub(super) fn passthrough(view: &mut View<'_, '_>, options: &Options) -> bool {
    let asked = view.flag("ssl-passthrough");
    if asked && !options.ssl_passthrough {
        let reason = "expected --enable-ssl-passthrough to be on, which is off";
        let consequence = "TLS of its hosts ends at the data plane";
        view.reporter.warn_as_before("annotation ssl-passthrough", reason, consequence);
    }
    asked && options.ssl_passthrough
}
