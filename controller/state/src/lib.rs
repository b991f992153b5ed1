//! State of the running controller: its objects, their translation, and the progress of publications.

mod posted;
mod progress;
mod view;

pub use posted::{Post, PostedEndpoints, Posts, give_endpoints};
pub use progress::{Busy, Progress, Published};
pub use view::View;
