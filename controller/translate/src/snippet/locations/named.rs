//! `location @name { return ...; }` of a `server-snippet`: the response to clients without a good certificate, where
//! `auth-tls-error-page` names it.

use sluice_ir::{DirectResponse, Filter, HeaderModification, IpAccess, ResponseContent};

use crate::snippet::compiled::Compiled;
use crate::snippet::rewrite::responses::NO_RESPONSE;

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
    /// `None`: it does more than to answer every request.
    pub(in crate::snippet) fn new(name: &str, location: &Compiled) -> Option<Self> {
        let Compiled {
            filters,
            direct_responses,
            access,
            access_log_off,
            ..
        } = location;
        let [response] = direct_responses.as_slice() else {
            return None;
        };
        let is_plain = response.conditions.is_empty()
            && *access == IpAccess::default()
            && !access_log_off
            && response.status != NO_RESPONSE
            && !matches!(
                response.content,
                ResponseContent::Rewritten { .. } | ResponseContent::Captured(_)
            );
        let mut response = response.clone();
        response.headers = response.headers.or_else(|| of_responses(filters));
        let named = NamedLocation {
            name: name.to_owned(),
            response,
        };
        (is_plain && named.fits()).then_some(named)
    }

    /// With headers of the server, where it has none of its own. `None`: it would be too long.
    pub(in crate::snippet) fn within(mut self, server: &[Filter]) -> Option<Self> {
        let headers = self.response.headers.take();
        self.response.headers = headers.or_else(|| of_responses(server));
        self.fits().then_some(self)
    }

    fn fits(&self) -> bool {
        let text = serde_json::to_string(&self.response).unwrap_or_default();
        (1..=MAX_BYTES).contains(&text.len())
    }
}

fn of_responses(filters: &[Filter]) -> Option<HeaderModification> {
    let headers = filters.iter().find_map(Filter::response_headers);
    headers.cloned()
}
