//! Safe bindings to Envoy's dynamic modules, as far as an HTTP filter of ours needs them.
//!
//! ```text
//!   Envoy --event hooks (hooks.rs, extension_hooks.rs)--> Module: FilterConfig, Filter, Extension       safe Rust
//!   Envoy <--callbacks (callbacks.rs)-- Stream, Scheduler, Config, Process, Timer
//! ```
//!
//! Envoy exports the callbacks from its executable; the loader binds all of them when it opens the module, or refuses it. Declared by hand from
//! the ABI of Envoy 1.40 (`abi.h`): C names, C types, and numbers of attributes. A test compares the names with the symbols of the Envoy in
//! use; that numbers and layouts are right shows in what the end-to-end tests read by them.
//!
//! Three rules make the safe half safe:
//!
//! 1. **A handle ends with its hook.** [`Stream`], [`Config`] and [`Process`] borrow from the call of the hook that they were made for.
//! 2. **Bytes are copied.** What Envoy shows may be gone after the next change of the same stream, so nothing borrows from it.
//! 3. **No panic leaves a hook.** It is caught, [`Module::on_panic`] hears of it, and Envoy goes on without the filter.
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
mod exports;
#[doc(hidden)]
pub mod extension_hooks;
#[doc(hidden)]
pub mod hooks;
mod log;
mod module;
mod process;
mod response;
mod scheduler;
mod stream;
mod timing;

pub use config::{Config, Counter};
pub use log::{LogLevel, log};
pub use module::{Extension, Filter, FilterConfig, HeadersStatus, Module};
pub use process::{Process, Timer};
pub use response::Response;
pub use scheduler::Scheduler;
pub use stream::{Attribute, Direction, NumericAttribute, Stream};
