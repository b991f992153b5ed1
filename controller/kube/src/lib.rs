//! A cluster: as a source of objects, and what is written into it. The only crate that talks to an API server.
//!
//! ```text
//!   connect --client--+--> watch --Event--> publisher
//!                     |       \--IngressRef--> status::Writer --+
//!                     |      publisher --Notification--> Recorder --> API server
//!                     +--> Candidate --leads?--^---^          |
//!                                \----------------------------+
//! ```
//!
//! Nothing here is on the way of traffic: when the API server is gone, what was read stays, and all of this waits. What flags there
//! are is the caller's business.

mod addresses;
pub mod certgen;
mod cluster;
mod connect;
mod events;
mod identity;
mod lease;
mod notification;
pub mod status;
pub mod watch;

pub use cluster::{Candidacy, ClusterHandle, Duties, Election, Inbox};
pub use connect::{Access, connect, is_in_cluster};
pub use identity::own_namespace;
pub use lease::lease_duration;
pub use notification::Notification;
