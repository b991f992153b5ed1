//! Areas `sticky_balanced` and `sticky_persistent`: sessions and their cookies.

mod play;
mod visit;
mod words;

pub(super) use play::play;
