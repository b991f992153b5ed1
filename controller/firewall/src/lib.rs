//! Web application firewall for Envoy: ModSecurity's engine in a process of its own.
//!
//! ```text
//!   publisher --rules--> Firewall (handle) --rules over a socket--> process: rules, threads with engines
//!                           | starts it, starts it again                        ^
//!   Envoy --ext_proc--> relay: the controller's server for data planes --ext_proc over the socket
//! ```
//!
//! The engine parses what strangers send, in C++: a request that ends it, or keeps a thread of it busy, costs neither xDS nor
//! passwords anything. The relay makes it one service for all data planes, wherever they run, behind the same mutual TLS as xDS.
//! Without an answer of it no request is let through.
//!
//! Absent on purpose: the translation of rules (`translate`), and their text (`ir`, `xds`).

mod connection;
mod firewall;
mod process;
mod relay;
mod supervisor;
mod wire;

pub use firewall::{Firewall, LoadOutcome, Missing};
pub use process::{ProcessSettings, serve};
pub use relay::relay;
pub use sluice_modsecurity::NAME as LIBRARY;
