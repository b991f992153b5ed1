//! The controller's server for data planes: xDS over gRPC, the filter's log and nginx's authorization requests over plain HTTP.

mod clients;
mod machines;
mod poll;
mod refused_peers;
mod serve;
mod tls;

pub use clients::{ClientAddress, ClientLimits, with_write_timeout};
pub use machines::{Peers, interfaces};
pub use poll::SharedLog;
pub use serve::{Address, Served, bind_unix, forever, router, serve};
pub use tls::ServerTls;
