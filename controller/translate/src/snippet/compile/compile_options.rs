//! Surroundings of a snippet.

use sluice_ir::{HeaderBuffers, Hostname};

use crate::snippet::headers::changes::HeaderOptions;
use crate::snippet::rewrite::comparable::Comparable;
use crate::snippet::rewrite::constants::Constants;
use crate::support::DataPlane;

/// Settings that decide what of a snippet can be served.
#[derive(Clone, Copy)]
pub(crate) struct CompileOptions<'a> {
    /// Settings for its changes of headers.
    pub(crate) headers: HeaderOptions<'a>,
    /// An authentication service is asked.
    pub(crate) has_auth_service: bool,
    /// Parts of a request that conditions may compare.
    pub(crate) comparable: Comparable,
    /// All hosts that it is for; `None`: there may be others.
    pub(crate) hosts: Option<&'a [Hostname]>,
    /// Room for headers of requests to all hosts, as the ConfigMap says.
    pub(crate) header_buffers: Option<HeaderBuffers>,
    /// It is the ConfigMap's, for the servers of all Ingresses.
    pub(crate) of_all_servers: bool,
    /// Variables that the locations of its Ingress begin with.
    pub(crate) constants: Option<&'a Constants>,
    /// `None`: several.
    pub(crate) data_plane: Option<DataPlane>,
    /// Reason why the data plane has nothing to do for a directive.
    pub(crate) not_needed: &'a dyn Fn(&str) -> Option<&'static str>,
}

impl<'a> CompileOptions<'a> {
    /// Options that know nothing of what is around the snippet.
    pub(crate) fn new(headers: HeaderOptions<'a>, comparable: Comparable) -> Self {
        CompileOptions {
            headers,
            has_auth_service: false,
            comparable,
            hosts: None,
            header_buffers: None,
            of_all_servers: false,
            constants: None,
            data_plane: None,
            not_needed: &|_| None,
        }
    }
}
