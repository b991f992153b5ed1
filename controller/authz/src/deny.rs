//! Answers to clients that do not come in.

use sluice_xds_server::AuthzDecision;

/// A status, and nothing else.
pub(crate) fn deny(status: u16) -> AuthzDecision {
    AuthzDecision::Deny {
        status,
        headers: Vec::new(),
    }
}
