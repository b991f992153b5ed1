//! An API server for tests: a small one of our own, or a real one behind the same door.
//!
//! ```text
//!   test ---REST---+--> Fake (kinds, store, patch, watch)          controller
//!                  |        or kubectl proxy --> a real one             |
//!                  +<----------- Gate: faults, and who asked what <-----+
//! ```
//!
//! The fake speaks what the controller speaks: get, list with pages, watch with bookmarks and expiry, create, replace
//! with optimistic locking, merge patch, server-side apply, the status subresource, metadata only, and selectors. It
//! answers what is asked of pods themselves (logs, pages, commands: [`containers`]) and of rights. It
//! does not admit, default or garbage-collect, and refuses only what tests have met a real one refusing (`validation.rs`). Faults are not in it but in the [`gate`], so that they can be played
//! against a real API server as well.

pub mod cluster;
pub mod containers;
mod discovery;
mod fake;
pub mod gate;
mod kinds;
mod patch;
mod reply;
mod reviews;
mod selector;
mod store;
mod target;
mod upstream;
mod validation;
mod watch;

pub use cluster::Cluster;
pub use fake::Fake;
