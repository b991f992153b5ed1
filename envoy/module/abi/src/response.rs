//! Responses to calls of the module.

use crate::buffer::{EnvoyBuffer, EnvoyHeader};

/// The response to a call.
pub struct Response<'hook> {
    headers: &'hook [EnvoyHeader],
    body: &'hook [EnvoyBuffer],
}

impl<'hook> Response<'hook> {
    pub(crate) fn new(headers: &'hook [EnvoyHeader], body: &'hook [EnvoyBuffer]) -> Self {
        Response { headers, body }
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        // SAFETY: the headers are there during the hook.
        let pairs = self
            .headers
            .iter()
            .map(|header| unsafe { (header.name.bytes(), header.value.bytes()) });
        let (_, status) = pairs.into_iter().find(|(name, _)| *name == b":status")?;
        std::str::from_utf8(status).ok()?.parse().ok()
    }

    /// Its body.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        // SAFETY: the body is there during the hook.
        let chunks = self.body.iter().map(|chunk| unsafe { chunk.bytes() });
        chunks.collect::<Vec<_>>().concat()
    }
}
