//! Blocks of nginx's configuration.

/// Block of nginx's configuration that a snippet is put into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// The location of a path of an Ingress.
    Location,
    /// The server of a host.
    Server,
    /// A location within a `server-snippet`.
    LocationOfServer,
    /// One that leads to pods.
    ProxiedLocation,
    /// The location that asks an authentication service.
    AuthRequest,
}
