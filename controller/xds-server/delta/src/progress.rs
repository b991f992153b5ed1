//! Progress of a client.

use crate::history::Generation;
use crate::version::Version;

/// Progress of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Everything up to here is answered.
    pub settled: Generation,
    /// It asks for listeners.
    pub has_listeners: bool,
    /// It asks for routes.
    pub has_routes: bool,
    /// Its last answers about probes: of routes, and of the listener with TLS.
    pub probes: [Option<Probed>; 2],
}

/// ACK or NACK of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The version that it answers.
    pub version: Version,
    /// ACK.
    pub is_accepted: bool,
}
