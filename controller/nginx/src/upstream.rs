//! Upstreams: one for all pods that are spoken to in the same way, because a connection that is kept is asked for by its
//! address alone.

use std::collections::BTreeSet;

use sluice_ir::{BackendId, Config, Keep, Outside, Protocol, Transport, UpstreamTls};

/// What makes connections different.
type Kind<'a> = (Protocol, Option<&'a UpstreamTls>);

/// Every upstream.
pub(crate) fn names(config: &Config) -> Vec<String> {
    let usual = "sluice_pods".to_owned();
    std::iter::once(usual).chain((0..unusual(config).len()).map(numbered)).collect()
}

/// How long connections to pods are kept: the ConfigMap says it for all of them.
pub(crate) fn keep(config: &Config) -> Keep {
    config.backends.values().next().map(|backend| backend.transport.keep.clone()).unwrap_or_default()
}

/// The upstream for pods that are spoken to like this.
pub(crate) fn name(transport: &Transport, config: &Config) -> String {
    let kind = kind(transport);
    let number = unusual(config).iter().position(|other| *other == kind);
    number.map_or_else(|| "sluice_pods".to_owned(), numbered)
}

fn numbered(number: usize) -> String {
    format!("sluice_pods_{number}")
}

/// How a backend's pods are spoken to.
pub(crate) fn transport(id: &BackendId, config: &Config) -> Transport {
    config.backends.get(id).map(|backend| backend.transport.clone()).unwrap_or_default()
}

/// A host outside of the cluster, as nginx resolves it.
pub(crate) fn place(outside: &Outside) -> String {
    format!("{}:{}", outside.host.as_str(), outside.port)
}

fn kind(transport: &Transport) -> Kind<'_> {
    (transport.protocol, transport.tls.as_ref())
}

fn unusual(config: &Config) -> BTreeSet<Kind<'_>> {
    let inside = config.backends.values().filter(|backend| backend.outside.is_none());
    inside.map(|backend| kind(&backend.transport)).filter(|kind| *kind != (Protocol::Http1, None)).collect()
}
