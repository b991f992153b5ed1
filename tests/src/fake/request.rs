//! Requests as a host sees them, and the host that it is.

use std::collections::BTreeMap;

use sluice_wasm_host::MapType;

/// The data plane that the host imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Personality {
    /// As measured of Envoy.
    Envoy,
    /// Kong's ngx_wasm_module: what it does not have traps, calls have their phases.
    Nginx,
}

impl Personality {
    /// Both of them.
    pub const BOTH: [Personality; 2] = [Personality::Envoy, Personality::Nginx];

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Personality::Envoy => "envoy",
            Personality::Nginx => "nginx",
        }
    }
}

/// A request of a client, as the host holds it.
#[derive(Debug, Default)]
pub struct Request {
    /// By path.
    pub properties: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Of the request, names in lower case.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// Headers of the endpoint's response, as the filter leaves them.
    pub response_headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The status that the filter answered with itself.
    pub replied: Option<u32>,
    /// It waited and goes on now.
    pub resumed: bool,
}

impl Request {
    /// One whose route leads to pods: Envoy knows its cluster.
    #[must_use]
    pub fn to_pods(mut self) -> Self {
        self.properties
            .insert(b"xds\0cluster_name".to_vec(), b"n/s/80".to_vec());
        self
    }

    pub(super) fn map(&mut self, map: MapType) -> &mut Vec<(Vec<u8>, Vec<u8>)> {
        match map {
            MapType::HttpResponseHeaders => &mut self.response_headers,
            _ => &mut self.headers,
        }
    }
}

/// A call of the filter to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Tells it from others.
    pub token: u32,
    /// Its upstream.
    pub upstream: String,
    /// Its path.
    pub path: String,
}

/// The endpoints that were tried, their statuses, and the times of connecting and answering: as nginx has them, one by one, and
/// as our module answers them, at once.
pub fn nginx_lists(lists: [String; 4]) -> Vec<(&'static str, Vec<u8>)> {
    let at_once = ("ngx.sluice_outcome", lists.join("\n").into());
    let names = [
        "ngx.upstream_addr",
        "ngx.upstream_status",
        "ngx.upstream_connect_time",
        "ngx.upstream_response_time",
    ];
    names
        .into_iter()
        .zip(lists.map(String::into_bytes))
        .chain([at_once])
        .collect()
}
