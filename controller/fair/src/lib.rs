//! Fair shares of memory, time and lines of the log among tenants.
//!
//! [`FairCache`] has a budget in bytes, of which a namespace that fills it forgets its own; [`Turns`] lets namespaces have turns one
//! after the other, short work first. [`LineLimit`] is how much each may have logged, by a [`Bucket`] that fills with time.
//!
//! Pure: no clock, no lock, no task.

mod bucket;
mod cache;
mod line_limit;
mod turns;

pub use bucket::Bucket;
pub use cache::{FairCache, Key};
pub use line_limit::LineLimit;
pub use turns::{Full, Limits, Turns};
