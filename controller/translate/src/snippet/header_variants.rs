//! `if (...) { add_header ...; }`: headers of whatever responses requests get that the condition holds for.

use sluice_ir::{Condition, Filter, HeaderVariant};

use super::block_headers::{self, BlockHeaders};
use super::tree::Directive;

/// Conditions that headers have in one snippet. Each is a route beside that of every path.
pub(crate) const MAX_VARIANTS: usize = 4;
/// Headers of requests on a branch.
pub(super) struct Variant {
    pub(super) conditions: Vec<Condition>,
    pub(super) headers: BlockHeaders,
}

impl Variant {
    pub(super) fn within(self, around: &[Filter]) -> HeaderVariant {
        HeaderVariant {
            conditions: self.conditions,
            headers: self.headers.within(around),
        }
    }
}

/// True if a block has headers and nothing else.
pub(super) fn is_headers(block: &[Directive]) -> bool {
    !block.is_empty() && block.iter().all(block_headers::is_one)
}
