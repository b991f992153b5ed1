//! `if (...) { add_header ...; }`: headers of whatever responses requests get that the condition holds for.

use sluice_ir::{Condition, Filter, HeaderName, HeaderVariant, Variable};
use sluice_syntax::excerpt;

use super::block_headers::{self, BlockHeaders};
use super::changes::HeaderOptions;
use crate::snippet::block::Block;
use crate::snippet::error::{SnippetError, SnippetErrors};
use crate::snippet::syntax::tree::Directive;

/// Headers of one line, which nginx has to be told for all responses alike: an empty line of these takes away the line before it.
const SINGLE: [&str; 2] = ["etag", "last-modified"];

/// Conditions that headers have in one snippet. Each is a route beside that of every path.
pub(crate) const MAX_VARIANTS: usize = 4;

/// Headers of requests on a branch.
pub(in crate::snippet) struct Variant {
    pub(in crate::snippet) conditions: Vec<Condition>,
    pub(in crate::snippet) headers: BlockHeaders,
}

impl Variant {
    pub(in crate::snippet) fn within(self, around: &[Filter]) -> HeaderVariant {
        HeaderVariant {
            conditions: self.conditions,
            headers: self.headers.within(around),
        }
    }
}

/// True if a block has headers and nothing else.
pub(in crate::snippet) fn is_headers(block: &[Directive]) -> bool {
    !block.is_empty() && block.iter().all(block_headers::is_one)
}

/// Checks variants beside the filters of all requests. The error is the reason.
pub(in crate::snippet) fn check(
    variants: &[HeaderVariant],
    filters: &[Filter],
    block: Block,
) -> Result<(), &'static str> {
    let around = block_headers::modification(filters);
    let mut all = variants
        .iter()
        .map(|variant| &variant.headers)
        .chain([&around]);
    if variants.is_empty() {
        Ok(())
    } else if block != Block::Location {
        Err("headers within an if without return are supported only in a configuration-snippet")
    } else if all.any(|headers| headers.reads(Variable::is_of_response)) {
        // nginx makes the values of these headers with the conditions.
        Err(
            "headers within an if without return are not supported beside $status, $upstream_addr and $upstream_status",
        )
    } else {
        Ok(())
    }
}

/// Headers of blocks that nginx can replace in all responses of a location, or in none.
#[derive(Default)]
pub(in crate::snippet) struct ReplacedForAll(Vec<(HeaderName, usize)>);

impl ReplacedForAll {
    /// Takes those of a block, with their lines.
    pub(in crate::snippet) fn add(
        &mut self,
        block: &[Directive],
        options: HeaderOptions<'_>,
    ) -> Result<(), SnippetErrors> {
        for directive in block {
            let headers = BlockHeaders::alone(std::slice::from_ref(directive), options)?;
            let names = headers.replaced().filter(|name| !is_variable(name));
            self.0
                .extend(names.map(|name| (name.clone(), directive.line)));
        }
        Ok(())
    }

    /// Checks that all responses have them. `around`: filters of all of them.
    pub(in crate::snippet) fn check(&self, around: &[Filter]) -> Result<(), SnippetError> {
        let around = block_headers::modification(around);
        let set = around.set.iter().map(|header| &header.name);
        let for_all: Vec<&HeaderName> = set.chain(&around.remove).collect();
        let is_for_some = |(name, _): &&(HeaderName, usize)| {
            is_single(name) || !for_all.iter().any(|known| known.is_alike(name.as_str()))
        };
        let Some((name, line)) = self.0.iter().find(is_for_some) else {
            return Ok(());
        };
        let reason = format!(
            "nginx cannot change `{}` within an if: `ETag` and `Last-Modified` never, `Refresh` and names with other characters than \
             letters, digits and `-` only where all responses have them",
            excerpt(name.as_str())
        );
        Err(SnippetError::new(*line, reason))
    }
}

fn is_single(name: &HeaderName) -> bool {
    SINGLE.iter().any(|single| name.is_alike(single))
}

/// True if nginx has a variable of the header in pods' responses, unchanged by `proxy_redirect`, and sends an empty line of it as none.
fn is_variable(name: &HeaderName) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    name.as_str().bytes().all(is_plain) && !name.is_alike("refresh") && !is_single(name)
}
