//! Servers that an Ingress affects, which decide what Ingresses are translated together.

use std::collections::BTreeSet;

use sluice_ir::ServerName;
use sluice_syntax::server_alias::alias_entries;
use sluice_translate_engine::Ingress;

use super::server_builder;
use crate::annotations::canonical;

/// Every server that an Ingress can make, change, or be kept from by another Ingress. A name too many does no harm: the
/// Ingresses that share it are translated together.
pub(crate) fn names(ingress: &Ingress) -> BTreeSet<ServerName> {
    let rules = ingress
        .spec
        .iter()
        .flat_map(|spec| spec.rules.iter().flatten());
    let hosts =
        rules.filter_map(|rule| ServerName::parse(rule.host.as_deref().unwrap_or_default()).ok());
    let mut names: BTreeSet<ServerName> = hosts.collect();
    if ingress
        .spec
        .iter()
        .all(|spec| spec.rules.iter().flatten().next().is_none())
    {
        names.insert(ServerName::CatchAll);
    }
    for (key, text) in ingress.annotations.iter() {
        let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
        match canonical(name) {
            "server-alias" => {
                let entries = alias_entries(text).into_iter();
                names.extend(entries.flat_map(|entry| entry.names.unwrap_or_default()));
            }
            "from-to-www-redirect" => {
                let others: Vec<ServerName> = names
                    .iter()
                    .filter_map(server_builder::www_counterpart)
                    .collect();
                names.extend(others);
            }
            // Its default backend is a canary of the catch-all server's, also beside rules.
            "canary" if has_default(ingress) => {
                names.insert(ServerName::CatchAll);
            }
            _ => {}
        }
    }
    names
}

fn has_default(ingress: &Ingress) -> bool {
    let spec = ingress.spec.as_ref();
    spec.is_some_and(|spec| spec.default_backend.is_some())
}
