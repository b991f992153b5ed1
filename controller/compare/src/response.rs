//! A response as it is compared, or why there is none.

use std::fmt;

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Names in lower case, and values, in their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Body,
    /// SHA-256 of the certificate that was presented.
    pub certificate: Option<[u8; 32]>,
}

/// A body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// SHA-256 of the bytes that were read, after decompression.
    pub hash: [u8; 32],
    /// Bytes that were read.
    pub bytes: u64,
    /// It went on, beyond the limit.
    pub is_longer: bool,
    /// It ended before it was complete.
    pub is_cut: bool,
    /// An encoding that was not undone.
    pub encoding: Option<String>,
    /// Its first bytes.
    pub start: Vec<u8>,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The data plane has no address for the scheme.
    NoAddress(&'static str),
    /// Nobody is there.
    Unreachable(String),
    /// TLS could not be agreed on.
    Tls(String),
    /// The connection ended without a response, or with none that is HTTP.
    NoResponse(String),
    /// No response in time.
    Timeout,
    /// The request cannot be written: in HTTP/1.1 there is none like it.
    Unsendable(String),
}

/// The outcome of a request.
pub type Answered = Result<Response, Failure>;

impl Response {
    /// Values of a header.
    pub fn values<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r [u8]> {
        let headers = self.headers.iter().filter(move |(known, _)| known == name);
        headers.map(|(_, value)| value.as_slice())
    }
}

impl Failure {
    /// True if the data plane has been asked, and this is its answer.
    #[must_use]
    pub fn is_an_answer(&self) -> bool {
        matches!(self, Failure::NoResponse(_) | Failure::Timeout)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoAddress(flag) => write!(f, "{flag} has no URL for its scheme"),
            Failure::Unreachable(reason) => write!(f, "cannot connect: {reason}"),
            Failure::Tls(reason) => write!(f, "TLS: {reason}"),
            Failure::NoResponse(reason) => write!(f, "no response: {reason}"),
            Failure::Timeout => f.write_str("no response within --timeout"),
            Failure::Unsendable(reason) => write!(f, "cannot be sent: {reason}"),
        }
    }
}
