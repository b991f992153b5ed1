//! Values of single keys.

use sluice_ir::Cidr;
use sluice_syntax::{Parsed, value};

pub(super) fn owned(text: &str) -> Vec<String> {
    value::list(text).into_iter().map(str::to_owned).collect()
}

pub(super) fn maybe_cidrs(text: &str) -> Parsed<Vec<Cidr>> {
    if text.is_empty() {
        Ok(Vec::new())
    } else {
        value::cidrs(text)
    }
}
