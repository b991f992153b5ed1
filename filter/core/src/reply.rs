//! Answers of the filter itself.

/// A response that the filter gives itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// A short plain text.
    pub body: &'static str,
}

impl Reply {
    /// The backend has no endpoint.
    pub const NO_ENDPOINTS: Reply = Reply {
        status: 503,
        body: "503 no endpoints available\n",
    };
    /// The path means nothing.
    pub const BAD_PATH: Reply = Reply {
        status: 400,
        body: "400 bad path\n",
    };
    /// The path is longer than what can be kept of it.
    pub const LONG_PATH: Reply = Reply {
        status: 414,
        body: "414 URI too long\n",
    };
}
