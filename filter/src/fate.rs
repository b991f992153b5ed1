//! What becomes of a request when the filter has seen its headers.

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The data plane goes on with it.
    GoesOn,
    /// It has been answered.
    Answered,
    /// It is paused until the first tables are there.
    Waits,
}
