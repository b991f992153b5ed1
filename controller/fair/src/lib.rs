//! Fair shares of memory and time among tenants.
//!
//! [`FairCache`] has a budget in bytes, of which a namespace that fills it forgets its own; [`Turns`] lets namespaces have turns one
//! after the other, short work first.
//!
//! Pure: no clock, no lock, no task.

mod cache;
mod turns;

pub use cache::{FairCache, Key};
pub use turns::{Full, Limits, Turns};
