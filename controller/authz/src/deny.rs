//! Answers to clients that do not come in.

use sluice_xds_server::Verdict;

/// A status, and nothing else.
pub(crate) fn deny(status: u16) -> Verdict {
    Verdict::Deny {
        status,
        headers: Vec::new(),
    }
}
