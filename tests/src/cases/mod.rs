//! Acceptance cases as data: given these objects, when this request, then that answer.
//!
//! ```text
//!   a file --file--> its form and its cases --play--> Outcome of each --> Summary
//!                      |
//!                      +-- ingress: the real controller, the real data plane, real pods
//!                      +-- balancers: the shipped filter in fake hosts
//! ```
//!
//! A case is never known by its id. What a case asks for and this runner cannot do is an outcome of its own, with the
//! reason in words; nothing is left out in silence.

pub mod balancers;
pub mod expected;
pub mod file;
pub mod ingress;
mod outcome;
mod play;

pub use outcome::{Outcome, Played, Summary};
pub use play::{Selection, play};
