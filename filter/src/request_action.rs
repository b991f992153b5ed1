//! Actions on a request whose headers the filter has seen.

/// The action on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestAction {
    /// The data plane goes on with it.
    Continue,
    /// The filter has responded to it.
    Respond,
    /// It is paused until the first tables arrive.
    Pause,
}
