//! Upstreams: one for all pods that are spoken to in the same way, because a connection that is kept is asked for by its
//! address alone.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use sluice_ir::{BackendId, Config, KeepAlive, Protocol, Transport, UpstreamTls};

use crate::settings::Settings;

/// Properties that distinguish upstream connections.
type Kind<'a> = (Protocol, Option<&'a UpstreamTls>);

/// `upstream {}`.
pub(crate) struct Upstream {
    pub(crate) name: String,
    /// Seconds that a connection is kept without a request.
    pub(crate) idle: u32,
    /// Requests of one connection, and its seconds in all.
    pub(crate) requests: u32,
    pub(crate) lifetime: u32,
}

/// Plain HTTP.
const USUAL: Kind<'static> = (Protocol::Http1, None);
/// ingress-nginx's `upstream-keepalive-requests` and `upstream-keepalive-time`.
const USUAL_REQUESTS: u32 = 10_000;
const USUAL_LIFETIME: u32 = 3600;

/// Every upstream.
pub(crate) fn all(config: &Config, settings: &Settings) -> Vec<Upstream> {
    if settings.engine.is_kongs() {
        // Nothing there connects to addresses that only the filter knows, and keeps the connections.
        return Vec::new();
    }
    let usual = ("sluice_pods".to_owned(), USUAL);
    let unusual = unusual(config).into_iter().enumerate();
    let named = unusual.map(|(number, kind)| (numbered(number), kind));
    std::iter::once(usual)
        .chain(named)
        .map(|(name, kind)| upstream(name, kind, config))
        .collect()
}

/// How long connections are kept is the operator's word, and the same for all pods.
fn upstream(name: String, wanted: Kind<'_>, config: &Config) -> Upstream {
    let alike = config
        .backends
        .values()
        .find(|backend| kind(&backend.transport) == wanted);
    let KeepAlive {
        idle_timeout: idle,
        max_requests: requests,
        max_lifetime: lifetime,
    } = alike
        .map(|backend| backend.transport.keep_alive.clone())
        .unwrap_or_default();
    Upstream {
        name,
        idle,
        requests: requests.map_or(USUAL_REQUESTS, NonZeroU32::get),
        lifetime: lifetime.map_or(USUAL_LIFETIME, NonZeroU32::get),
    }
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

/// Transport of a backend.
pub(crate) fn transport(id: &BackendId, config: &Config) -> Transport {
    config
        .backends
        .get(id)
        .map(|backend| backend.transport.clone())
        .unwrap_or_default()
}

fn kind(transport: &Transport) -> Kind<'_> {
    (transport.protocol, transport.tls.as_ref())
}

fn unusual(config: &Config) -> BTreeSet<Kind<'_>> {
    let all = config.backends.values();
    all.map(|backend| kind(&backend.transport))
        .filter(|kind| *kind != USUAL)
        .collect()
}
