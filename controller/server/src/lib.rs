//! The controller's server for data planes: xDS and the firewall's relay over gRPC, the filter's log and nginx's auth_request
//! over plain HTTP.

mod machines;
mod poll;
mod serve;
mod tracked_listener;

pub use machines::{Peers, interfaces};
pub use poll::SharedLog;
pub use serve::{Address, Served, listen, mutual_tls, router};
