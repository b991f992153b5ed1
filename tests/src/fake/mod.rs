//! The shipped filter under wasmtime, in a fake host with an Envoy and an nginx personality.
//!
//! ```text
//!   Filter: drives the callbacks as a host does --> sluice_filter --> FakeHost: properties in, effects out
//! ```
//!
//! A trap of the filter is a panic here.

mod filter;
mod host;
mod precompiled;
mod request;
mod tables;

pub use filter::{BACKEND, Filter, Outcome, ROUTE};
pub use host::{FakeHost, SharedData};
pub use request::{Call, Personality, Request, nginx_lists};
pub use tables::{backend, change, snapshot, tables};
