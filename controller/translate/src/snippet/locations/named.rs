//! `location @name { return ...; }` of a `server-snippet`: the response to clients without a good certificate, where
//! `auth-tls-error-page` names it.

use sluice_ir::{DirectResponse, Filter};

/// Bytes of a response as it is written down, so that each word of it fits into nginx's 4,096.
const MAX_BYTES: usize = 3800;
const MAX_NAME: usize = 100;

/// A location that no path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedLocation {
    /// With its `@`.
    pub(crate) name: String,
    pub(crate) response: DirectResponse,
}

/// True if it is the name of such a location.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let name = text.strip_prefix('@').unwrap_or_default();
    !name.is_empty() && text.len() <= MAX_NAME && name.bytes().all(is_plain)
}

impl NamedLocation {
    /// With the response headers of filters around it, where it has none of its own. `None`: it would be too long.
    pub(in crate::snippet) fn within(mut self, filters: &[Filter]) -> Option<Self> {
        let headers = self.response.headers.take();
        self.response.headers = headers.or_else(|| {
            let headers = filters.iter().find_map(Filter::response_headers);
            headers.cloned()
        });
        self.fits().then_some(self)
    }

    fn fits(&self) -> bool {
        let text = serde_json::to_string(&self.response).unwrap_or_default();
        (1..=MAX_BYTES).contains(&text.len())
    }
}
