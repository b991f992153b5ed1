//! Cases of the ingress form, against the controller and the data plane as they are built.
//!
//! ```text
//!   schema --> model <-- action            given, and what `after` makes of it
//!                |
//!                +--> objects, secrets --> stage (a file, or a cluster) --> sluice --> data plane
//!                +--> pods (echo) <-------------------------------------------------+
//!                       |                                                           ^
//!   check <-- journal --+        answers <-- traffic <-- request <-- when ----------+
//! ```

mod action;
mod asked;
pub mod backend;
pub mod certificates;
mod change;
pub mod check;
mod control;
pub mod expect;
mod fixture;
mod flags;
pub mod idle;
mod marker;
pub mod model;
mod objects;
mod perform;
mod pods;
mod request;
mod requests;
pub mod schema;
mod secrets;
mod stage;
pub mod staged;
pub mod then;
mod traffic;
pub mod when;
pub mod world;

pub use perform::play;
