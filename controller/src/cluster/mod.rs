//! What the controller has to do with a cluster besides reading it.

mod connect;

pub(crate) use connect::{connect, is_in_cluster};
