//! Backends of connections without HTTP, and the files with their pods.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::num::NonZeroU32;

use sluice_ir::{Backend, BackendId, Config};

use crate::files::names::hash;

/// ingress-nginx: `max-worker-connections`.
const WORKER_CONNECTIONS: u32 = 16_384;

/// Those of ports, and those whose TLS ends at their pods.
pub(super) fn all(config: &Config) -> impl Iterator<Item = (&BackendId, &Backend)> {
    let ports = config.streams.values().map(|stream| &stream.backend);
    let ids: BTreeSet<&BackendId> = ports.chain(config.passthrough.values()).collect();
    ids.into_iter()
        .filter_map(|id| Some((id, config.backends.get(id)?.as_ref())))
}

/// The pods of each, by the names of their files.
#[must_use]
pub fn pods(config: &Config) -> BTreeMap<String, String> {
    all(config)
        .map(|(id, backend)| (file(id), listed(backend)))
        .collect()
}

fn listed(backend: &Backend) -> String {
    let mut text = String::new();
    let lasting = || {
        let endpoints = backend.endpoints.iter();
        endpoints.filter(|endpoint| !endpoint.draining)
    };
    let none_is_healthy = lasting().all(|endpoint| endpoint.unhealthy);
    for endpoint in lasting().filter(|endpoint| none_is_healthy || !endpoint.unhealthy) {
        let backup = if endpoint.backup { " backup" } else { "" };
        // Writing to a String does not fail.
        let _ = writeln!(text, "{} {}{backup}", endpoint.address, endpoint.weight);
    }
    text
}

/// Name of the `upstream {}`.
pub(super) fn upstream(id: &BackendId) -> String {
    format!("sluice_stream_{}", hash(id.as_str()))
}

/// Name of the file with the pods.
pub(super) fn file(id: &BackendId) -> String {
    hash(id.as_str())
}

/// Connections of a worker: ingress-nginx's default, or what the ConfigMap says where it is more.
pub(crate) fn most_of_all(config: &Config) -> u32 {
    all(config)
        .map(|(_, backend)| most(backend))
        .fold(WORKER_CONNECTIONS, u32::max)
}

pub(super) fn most(backend: &Backend) -> u32 {
    backend
        .transport
        .max_connections
        .map_or(WORKER_CONNECTIONS, NonZeroU32::get)
}
