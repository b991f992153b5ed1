//! Changes for writers of Events.

use sluice_translate::Report;

/// A change in what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// It holds from now on.
    Appeared(Report),
    /// It holds no longer.
    Gone(Report),
    /// Our nginx serves another configuration.
    Reloaded,
}
