//! The same pod for the same key.

use std::num::NonZeroU16;

use sluice_filter_config::HashKey;
use sluice_ir::LoadBalance;

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value::{self, Parsed};
use super::view::View;

/// Pods of a subset, when nobody says how many.
const SUBSET: NonZeroU16 = NonZeroU16::new(3).unwrap();

pub(super) const GROUP: Group = Group {
    title: "Hashing",
    annotations: &[
        annotation("upstream-hash-by", Value::Text, Risk::High, Scope::Location)
            .partly("variables that every data plane has; others are reported"),
        annotation("upstream-hash-by-subset", Value::Bool, Risk::Low, Scope::Location).full(),
        annotation("upstream-hash-by-subset-size", Value::Int, Risk::Low, Scope::Location).full(),
    ],
};

/// Comes before the algorithm that `load-balance` names.
pub(super) fn hash(view: &mut View<'_, '_>) -> Option<LoadBalance> {
    let is_subset = view.flag("upstream-hash-by-subset");
    let size = view.read("upstream-hash-by-subset-size", value::count).filter(|size| *size > 0);
    let size = size.map(|size| NonZeroU16::try_from(u16::try_from(size).unwrap_or(u16::MAX)));
    let key = key(view)?;
    let subset = is_subset.then(|| size.and_then(Result::ok).unwrap_or(SUBSET));
    Some(LoadBalance::Hash { key, subset })
}

/// A variable that nobody has adds nothing to the key, as in nginx; a key of such variables alone is none.
fn key(view: &mut View<'_, '_>) -> Option<String> {
    const NAME: &str = "upstream-hash-by";
    let key = view.read(NAME, characters)?;
    let (known, unknown) = HashKey::parse(&key);
    for variable in &unknown {
        view.without(
            NAME,
            variable.to_string(),
            if known.0.is_empty() { "annotation ignored" } else { "it adds nothing" },
        );
    }
    (unknown.is_empty() || !known.0.is_empty()).then_some(key)
}

/// ingress-nginx takes no others, and leaves spaces out.
fn characters(text: &str) -> Parsed<String> {
    let text = text.replace(' ', "");
    let valid = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_${}".contains(&b));
    if valid { Ok(text) } else { Err("letters, digits, -, _ and variables ($remote_addr)".into()) }
}
