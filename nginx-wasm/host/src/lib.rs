//! A proxy-wasm ABI 0.2.1 host on wasmtime, over a trait.
//!
//! ```text
//!   owner (an nginx worker, a test)
//!     |  Plugin::new(&Module, Options)          once: every import is linked
//!     |  Vm::new(&plugin, env)                  one instance; exports resolved once
//!     |  vm.on_request_headers(&context, ..)    enter -> the guest -> leave
//!     v
//!   +-----------------------+    imports    +----------------------------------+
//!   | guest (sluice_filter) | ------------> | Env: the host environment        |
//!   +-----------------------+   statuses    | records effects, never calls in  |
//!                                           +----------------------------------+
//! ```
//!
//! The capabilities of a host are an [`Env`]; everything else is here: guest memory, serialization, context ids, limits,
//! traps. nginx and the fake hosts of the tests are `Env`s, so the tests run the same ABI code as production.
//!
//! An [`Env`] must not call back into the guest: it is borrowed while the guest runs. It records effects (a local
//! response, a resume), which its owner applies when the guest has returned. Guest pointers are untrusted: a bad one
//! is an error status for the guest, never a panic of the host.
//!
//! Absent: threads, wasmtime-wasi, `unsafe` (the caller deserializes compiled modules), gRPC calls and TCP streams, and
//! any policy after a trap beyond [`Vm::restart`].

#![forbid(unsafe_code)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod abi;
mod callbacks;
#[cfg(feature = "compile")]
mod compile;
mod context;
mod engine;
mod env;
mod exports;
mod guest;
mod imports;
mod options;
mod pairs;
mod plugin;
mod trap;
mod vm;
mod wasi;

pub use abi::{Action, BufferType, LogLevel, MapType, MetricType, Status, StreamType};
#[cfg(feature = "compile")]
pub use compile::{compile, compile_for, compile_metered};
pub use context::{Context, ContextId};
pub use engine::{engine_config, metered_config};
pub use env::{Env, HostResult, HttpCall, LocalResponse, PropertyPath};
pub use options::{Options, Unimplemented};
pub use pairs::{Pairs, PairsBuf};
pub use plugin::Plugin;
pub use trap::{Cause, Trap};
pub use vm::Vm;
/// The version of wasmtime in this crate's API.
pub use wasmtime;
