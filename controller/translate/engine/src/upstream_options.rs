//! The operator's options for upstreams.

use crate::{AddressPolicy, ObjectKey};

/// Options that decide which upstreams are dialled.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamOptions<'a> {
    /// The policy of the flags, without the addresses that the cluster shows to be Sluice's own.
    pub addresses: &'a AddressPolicy,
    /// True if Services of type ExternalName have no endpoints.
    pub disable_external_name: bool,
    /// The Service in front of the data planes.
    pub publish_service: Option<&'a ObjectKey>,
    /// The namespace of the controller.
    pub own_namespace: Option<&'a str>,
}
