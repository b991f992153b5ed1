//! State of the running controller: its objects, their translation, and the progress of publications.

mod progress;
mod view;

pub use progress::{Busy, Progress, Published};
pub use view::View;
