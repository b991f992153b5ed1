//! Sizes of what a snippet becomes, in the units of the budgets that paths and hosts have for it (`servers/snippet_budget.rs`).

use sluice_ir::{Filter, HeaderModification, HeaderVariant, IpAccess};

/// The snippet's share of the budget of each path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SnippetShare {
    /// Responses and conditions.
    pub(crate) size: usize,
    /// Parts of the headers that errors do not have, as in [`HeaderModification::programs`].
    pub(crate) programs: usize,
}

/// Size of lists of networks, in responses and conditions: 50 networks are one.
pub(crate) fn access_size(lists: &IpAccess) -> usize {
    /// A network costs proxies as much as a fiftieth of a condition.
    const NETWORKS: usize = 50;
    (lists.allow.len() + lists.deny.len()).div_ceil(NETWORKS)
}

/// Size of changes of headers, in responses and conditions: `expires` is two headers under a condition, and variables are programs to
/// Envoy.
pub(crate) fn header_size(filters: &[Filter]) -> usize {
    let programs = filters.iter().map(|filter| match filter {
        Filter::RequestHeaders(headers) | Filter::ResponseHeaders(headers) => {
            headers.variable_programs()
        }
    });
    2 * usize::from(sluice_ir::response_expires(filters).is_some()) + programs.sum::<usize>()
}

/// Number of parts of the headers that errors do not have, whatever their condition: to Envoy each is a program.
pub(crate) fn header_programs(filters: &[Filter], variants: &[HeaderVariant]) -> usize {
    let unconditional = filters.iter().filter_map(Filter::response_headers);
    let conditional = variants.iter().map(|variant| &variant.headers);
    let all = unconditional.chain(conditional);
    all.map(HeaderModification::programs).sum()
}
