//! Area `ewma`: moving averages of response times, and the picks that follow from them.
//!
//! The filter does not say what it knows. It shows: an endpoint is picked before another one whose average is known to be
//! a little higher, and behind one whose average is a little lower.

mod play;
mod words;
mod world;

pub(super) use play::play;
