//! Settings of a snippet's `set`, `if`, `return` and `rewrite`.

use sluice_ir::Hostname;

use super::comparable::Comparable;
use super::constants::Constants;
use crate::snippet::headers::changes::HeaderOptions;
use crate::support::DataPlane;

/// Settings that decide which responses a snippet may have.
#[derive(Clone, Copy)]
pub(in crate::snippet) struct RewriteOptions<'a> {
    /// Settings for headers of its responses.
    pub(in crate::snippet) headers: HeaderOptions<'a>,
    /// Parts of a request that conditions may compare.
    pub(in crate::snippet) comparable: Comparable,
    /// All hosts that it is for; `None`: there may be others.
    pub(in crate::snippet) hosts: Option<&'a [Hostname]>,
    /// It is the ConfigMap's, for the servers of all Ingresses.
    pub(in crate::snippet) of_all_servers: bool,
    /// Variables that the locations of its Ingress begin with.
    pub(in crate::snippet) constants: Option<&'a Constants>,
    /// `None`: several.
    pub(in crate::snippet) data_plane: Option<DataPlane>,
}
