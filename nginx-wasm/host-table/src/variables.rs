//! Variables of nginx with what the module finds in its table. The configuration reads them.

/// Id of the route.
pub const ROUTE: &str = "sluice_found_route";
/// The backend that answers, unless the filter says that it is a canary.
pub const BACKEND: &str = "sluice_found_backend";
/// The name of the host, as `$server_name` has it where nginx.conf has all hosts.
pub const NAME: &str = "sluice_found_name";
/// The certificate for the name that a client asks for in its handshake.
pub const CERTIFICATE: &str = "sluice_found_certificate";
/// `1` for a request of a connection whose handshake was for another host, one of the table. Where that one is in nginx.conf, nginx itself
/// sees it.
pub const MISDIRECTED: &str = "sluice_misdirected";
