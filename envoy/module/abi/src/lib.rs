//! Safe bindings to Envoy's dynamic modules, as far as an HTTP filter of ours needs them.
//!
//! ```text
//!   Envoy --event hooks (hooks.rs)--> Program: FilterConfig, Filter      safe Rust
//!   Envoy <--callbacks (callbacks.rs)-- Stream, Config, Scheduler
//! ```
//!
//! Envoy exports the callbacks from its executable; the loader binds them when it opens the module. Declared by hand from the ABI
//! of Envoy 1.40 (`abi.h`): C names, C types. A test compares the names with the symbols of the Envoy in use.
//!
//! Three rules make the safe half safe:
//!
//! 1. **A handle ends with its hook.** [`Stream`] and [`Config`] borrow from the call of the hook that they were made for.
//! 2. **Bytes are copied.** What Envoy shows may be gone after the next change of the same stream, so nothing borrows from it.
//! 3. **No panic leaves a hook.** It is caught, [`Program::on_panic`] hears of it, and Envoy goes on without the filter.
#![allow(
    unsafe_code,
    reason = "Envoy is C++; no other crate of the workspace binds to it"
)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod buffer;
mod callbacks;
mod config;
#[doc(hidden)]
pub mod hooks;
mod log;
mod program;
mod scheduler;
mod stream;
mod timing;

pub use config::{Config, Counter, Response};
pub use log::{LogLevel, log};
pub use program::{Filter, FilterConfig, Headers, Program};
pub use scheduler::Scheduler;
pub use stream::{Attribute, Direction, Number, Stream};
