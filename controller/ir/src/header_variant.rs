//! Response headers under conditions.

use serde::Serialize;

use crate::{Condition, HeaderModification};

/// Changes of response headers for the requests that its conditions hold for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderVariant {
    /// All have to hold.
    pub conditions: Vec<Condition>,
    /// All changes of these responses.
    pub headers: HeaderModification,
}

impl HeaderVariant {
    /// The variant, its conditions and its headers, counted.
    #[must_use]
    pub fn size(&self) -> usize {
        1 + self.conditions.len() + self.headers.size()
    }
}
