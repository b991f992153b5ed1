//! The work that is left for a request after its headers.

use std::rc::Rc;

use sluice_filter_core::connections::Client;
use sluice_filter_core::{RequestToken, Rewrites};

/// The work that is left for a request: nothing, for most. Given back to the worker when the request is over.
#[derive(Debug, Default)]
pub struct Pending {
    pub(crate) token: Option<RequestToken>,
    /// The client that the request counts for until its end.
    pub(crate) client: Option<Client>,
    /// Replacements in the response.
    pub(crate) rewrites: Option<Rc<Rewrites>>,
}

impl Pending {
    /// True if nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.token.is_none() && self.client.is_none() && self.rewrites.is_none()
    }

    /// True if the end of the request, or its response, is of interest to a balancer or a session.
    #[must_use]
    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }
}
