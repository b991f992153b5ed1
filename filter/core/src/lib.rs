//! What the filter decides, as plain functions.
//!
//! ```text
//!   PluginConfig --apply--> Tables { locations, backends: endpoints + balancer }
//!                              |
//!   location, now, rng --------+--decide--> Decision::{Forward(candidates), Reply, Unknown}
//!
//!   answers of the controller --> Feed --> what to ask next, and when
//! ```
//!
//! The core takes values, time and randomness; it never asks for them. The shell around it (`filter/src`) talks to
//! the host.
//!
//! Absent on purpose: proxy-wasm, clocks, random number generators, panics on outside input.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod backend;
pub mod balance;
mod endpoints;
mod feed;
mod tables;
mod time;

pub use backend::{Backend, InvalidBackend};
pub use endpoints::{EndpointIdx, Endpoints, InvalidEndpoint};
pub use feed::{Feed, Verdict};
pub use tables::{Decision, Refused, Reply, Tables};
pub use time::Timestamp;

/// A source of randomness, given by the caller.
pub trait Rng {
    /// The next 64 random bits.
    fn next_u64(&mut self) -> u64;

    /// A number below `bound`, or zero when there is nothing below it.
    fn below(&mut self, bound: usize) -> usize {
        // Multiply-shift: unbiased enough for any bound that fits in memory, and without a division.
        let wide = u128::from(self.next_u64()) * (bound as u128);
        usize::try_from(wide >> 64).unwrap_or(0)
    }
}
