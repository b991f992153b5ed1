//! libmodsecurity, the engine of ModSecurity: loaded at run time, so that nothing is linked to it and it may be missing.
//!
//! ```text
//!   Library::load --> Engine (one for each thread) --\
//!                 --> Rules (parsed once, shared) ----+--> Transaction (one for each request) --> Intervention
//! ```
//!
//! The functions are those of its C interface (`modsecurity/modsecurity.h`, `rules_set.h`, `transaction.h`), which is the same in
//! all versions 3.0.
//!
//! Absent on purpose: files of rules, sockets, and any thread.

#![allow(
    unsafe_code,
    reason = "a foreign interface: each call says why it may be made"
)]

mod library;
mod rules;
mod text;
mod transaction;

pub use library::{Engine, Library, NAME};
pub use rules::Rules;
pub use transaction::{Connection, Intervention, Transaction};
