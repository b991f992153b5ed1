//! The same pod for the same key.

use std::num::NonZeroU16;

use sluice_filter_config::{HashKey, LARGEST_SUBSET, MOST_VARIABLES, UnknownVariable};
use sluice_ir::{LoadBalance, ReasonCode};
use sluice_syntax::value::{self, Parsed};
use sluice_translate_engine::Cause;

use super::catalogue::{Group, Scope, Value, annotation};
use super::outlier_detection;
use super::view::View;
use crate::risk::Risk;

/// Default size of a subset.
const SUBSET: NonZeroU16 = NonZeroU16::new(3).unwrap();

pub(super) const GROUP: Group = Group {
    title: "Hashing",
    annotations: &[
        annotation("upstream-hash-by", Value::Text, Risk::High, Scope::Location)
            .partly("variables that every data plane has; others are reported"),
        annotation(
            "upstream-hash-by-subset",
            Value::Bool,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "upstream-hash-by-subset-size",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .full(),
    ],
};

/// Comes before the algorithm that `load-balance` names.
pub(super) fn hash(view: &mut View<'_, '_>) -> Option<LoadBalance> {
    let is_subset = view.flag("upstream-hash-by-subset");
    let size = view
        .read("upstream-hash-by-subset-size", subset_size)
        .flatten();
    let key = key(view);
    let load_factor = outlier_detection::load_factor(view, key.is_some(), is_subset);
    let subset = is_subset.then(|| size.unwrap_or(SUBSET));
    Some(LoadBalance::Hash {
        key: key?,
        subset,
        load_factor,
    })
}

/// Zero is no size, as in ingress-nginx.
fn subset_size(text: &str) -> Parsed<Option<NonZeroU16>> {
    let size = u16::try_from(value::count(text)?)
        .ok()
        .filter(|size| *size <= LARGEST_SUBSET);
    size.map(NonZeroU16::new)
        .ok_or_else(|| format!("a number of pods up to {LARGEST_SUBSET}").into())
}

/// An unknown variable adds nothing to the key, as in nginx; a key of such variables alone is none.
fn key(view: &mut View<'_, '_>) -> Option<HashKey> {
    const NAME: &str = "upstream-hash-by";
    let (known, unknown) = view.read(NAME, parse_key)?;
    for variable in &unknown {
        view.not_honoured(
            NAME,
            Cause::new(ReasonCode::Unsupported, variable.to_string()),
            if known.0.is_empty() {
                "annotation ignored"
            } else {
                "it adds nothing to the key"
            },
        );
    }
    (unknown.is_empty() || !known.0.is_empty()).then_some(known)
}

/// ingress-nginx takes no others, and leaves spaces out.
fn parse_key(text: &str) -> Parsed<(HashKey, Vec<UnknownVariable>)> {
    let text = text.replace(' ', "");
    let valid = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_${}".contains(&b));
    if !valid {
        return Err("letters, digits, -, _ and variables ($remote_addr)".into());
    }
    let key = HashKey::parse(&text);
    if key.0.variables() > MOST_VARIABLES {
        Err(format!("at most {MOST_VARIABLES} variables").into())
    } else {
        Ok(key)
    }
}
