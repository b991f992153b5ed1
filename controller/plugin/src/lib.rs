//! The IR to the filter's plugin configuration.
//!
//! ```text
//!   ir::Config --convert--> wire routes and backends --Log--> snapshot | delta | nothing new
//! ```
//!
//! [`Log`] is the controller's side of the filter's long-poll: it knows the current tables and what changed on the
//! way to them, and answers any version with as little as brings it up to date.
//!
//! Absent on purpose: Kubernetes, I/O, clocks.

mod convert;
mod log;
mod rewriting;
mod session;
mod step;
mod table;

use sluice_filter_config::{Control, Host, PluginConfig};

pub use convert::canary;
pub use log::{Log, PollResponse};

/// The bootstrap configuration of a managed data plane: it only says where the log is, so it never changes.
#[must_use]
pub fn bootstrap_config(host: Host, upstream: &str, authority: &str) -> PluginConfig {
    let control = Control {
        upstream: upstream.to_owned(),
        authority: authority.to_owned(),
    };
    PluginConfig {
        host: Some(host),
        control: Some(control),
        ..PluginConfig::empty()
    }
}
