//! Upstreams: one for all pods that are spoken to in the same way, because a connection that is kept is asked for by its
//! address alone.

use std::collections::BTreeSet;

use sluice_ir::{Config, Transport, UpstreamTls};

/// Every upstream.
pub(crate) fn names(config: &Config) -> Vec<String> {
    let plain = name(&Transport::default(), config);
    let tls = (0..tls(config).len()).map(|number| format!("{plain}_tls_{number}"));
    std::iter::once(plain.clone()).chain(tls).collect()
}

/// The upstream for pods that are spoken to like this.
pub(crate) fn name(transport: &Transport, config: &Config) -> String {
    let number = transport.tls.as_ref().and_then(|wanted| tls(config).iter().position(|tls| *tls == wanted));
    number.map_or_else(|| "sluice_pods".to_owned(), |number| format!("sluice_pods_tls_{number}"))
}

fn tls(config: &Config) -> BTreeSet<&UpstreamTls> {
    config.backends.values().filter_map(|backend| backend.transport.tls.as_ref()).collect()
}
