//! Upstreams: one for all pods that are spoken to in the same way, because a connection that is kept is asked for by its
//! address alone.

use std::num::NonZeroU32;

use sluice_ir::{BackendId, KeepAlive, Transport};

use crate::settings::Settings;
use crate::tracked_config::TrackedConfig;
use crate::transports::{Kind, Transports};

/// `upstream {}`.
pub(crate) struct Upstream {
    pub(crate) name: String,
    /// Seconds that a connection is kept without a request.
    pub(crate) idle: u32,
    /// Requests of one connection, and its seconds in all.
    pub(crate) requests: u32,
    pub(crate) lifetime: u32,
}

/// ingress-nginx's `upstream-keepalive-requests` and `upstream-keepalive-time`.
const USUAL_REQUESTS: u32 = 10_000;
const USUAL_LIFETIME: u32 = 3600;

/// Every upstream.
pub(crate) fn all(transports: &Transports, settings: &Settings) -> Vec<Upstream> {
    if settings.engine.is_kongs() {
        // Nothing there connects to addresses that only the filter knows, and keeps the connections.
        return Vec::new();
    }
    let usual = ("sluice_pods".to_owned(), Kind::default());
    let unusual = transports.unusual().into_iter().enumerate();
    let named = unusual.map(|(number, kind)| (numbered(number), kind));
    std::iter::once(usual)
        .chain(named)
        .map(|(name, kind)| upstream(name, transports.keep_alive(&kind)))
        .collect()
}

fn upstream(name: String, kept: KeepAlive) -> Upstream {
    let KeepAlive {
        idle_timeout: idle,
        max_requests: requests,
        max_lifetime: lifetime,
    } = kept;
    Upstream {
        name,
        idle,
        requests: requests.map_or(USUAL_REQUESTS, NonZeroU32::get),
        lifetime: lifetime.map_or(USUAL_LIFETIME, NonZeroU32::get),
    }
}

/// The upstream for pods that are spoken to like this.
pub(crate) fn name(transport: &Transport, config: &TrackedConfig<'_>) -> String {
    let kind = Kind::from(transport);
    let number = config.shared().kinds.iter().position(|it| *it == kind);
    number.map_or_else(|| "sluice_pods".to_owned(), numbered)
}

fn numbered(number: usize) -> String {
    format!("sluice_pods_{number}")
}

/// Transport of a backend.
pub(crate) fn transport(id: &BackendId, config: &TrackedConfig<'_>) -> Transport {
    let backend = config.backend(id);
    backend
        .map(|backend| backend.transport.clone())
        .unwrap_or_default()
}
