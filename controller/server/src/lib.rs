//! The controller's server for data planes: xDS over gRPC, the filter's log and nginx's authorization requests over plain HTTP.

mod machines;
mod poll;
mod serve;

pub use machines::{Peers, interfaces};
pub use poll::SharedLog;
pub use serve::{Address, Served, listen, mutual_tls, router};
