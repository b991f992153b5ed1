//! Actions on a request whose headers the filter has seen.

/// The action on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestAction {
    /// The data plane goes on with it.
    Continue,
    /// The filter has responded to it.
    Respond,
    /// It needs tables, and there are none yet: it may be resumed when they have come, or are not waited for any longer.
    Wait,
}
