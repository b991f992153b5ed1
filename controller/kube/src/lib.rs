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
//! Traffic does not depend on it: while the API server is away, the last state stays.

mod addresses;
pub mod certgen;
mod cluster;
mod connect;
mod events;
mod identity;
mod inspect;
mod lease;
mod notification;
mod outage;
pub mod status;
pub mod watch;

pub use cluster::{Candidacy, ClusterTasks, Duties, Election, Inbox};
pub use connect::{Access, connect, connect_now, is_in_cluster};
pub use identity::own_namespace;
pub use inspect::{Inspection, Permission};
pub use lease::lease_duration;
pub use notification::Notification;
