//! Headers of requests that go on.

use super::{MAX_CONDITIONS, Responses};
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::headers::block_headers::BlockHeaders;
use crate::snippet::headers::variants::{MAX_VARIANTS, Variant};
use crate::snippet::rewrite::branch::Branch;
use crate::snippet::syntax::tree::Directive;
use crate::support::DataPlane;

impl Responses<'_> {
    /// Checks that nginx does not go on in another block: headers of a block before would no longer be there.
    pub(super) fn ends_behind_headers(
        &self,
        directive: &Directive,
        ends: bool,
    ) -> Result<(), SnippetError> {
        match ends || self.variants.is_empty() {
            true => Ok(()),
            false => {
                let reason = "after an if with headers, only an if with return is supported";
                Err(SnippetError::new(directive.line, reason))
            }
        }
    }

    /// `if (...) { add_header ...; }`
    pub(super) fn vary(
        &mut self,
        block: &[Directive],
        directive: &Directive,
        within: Vec<Branch>,
    ) -> Result<(), SnippetErrors> {
        let headers = BlockHeaders::alone(block, self.header_options)?;
        if self.data_plane == Some(DataPlane::Nginx) {
            self.replaced_for_all.add(block, self.header_options)?;
        }
        for Branch { conditions, .. } in within {
            directive.at_most(
                conditions.len(),
                MAX_CONDITIONS,
                "conditions of one response",
            )?;
            let headers = headers.clone();
            self.variants.push(Variant {
                conditions,
                headers,
            });
        }
        directive.at_most(self.variants.len(), MAX_VARIANTS, "conditions of headers")?;
        Ok(())
    }
}
