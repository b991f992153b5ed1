//! Settings for requests to upstreams.

use sluice_filter_core::balance::Algorithm;
use sluice_ir::{Expression, LoadBalance};

use crate::expression;
use crate::value::Parsed;

/// Value of the `Host` header, with constants in the place of variables.
pub fn host_value<'a>(
    text: &str,
    constant: impl Fn(&str) -> Option<&'a str>,
) -> Parsed<Expression> {
    let plain = !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._:${}".contains(&b));
    if plain {
        expression::for_host_with(text, constant)
    } else {
        Err("the name of a host".into())
    }
}

/// `load-balance`. The other algorithms of ingress-nginx have annotations of their own.
pub fn algorithm(text: &str) -> Parsed<LoadBalance> {
    let mut names = Algorithm::SELECTABLE.iter();
    match names.find(|name| **name == text) {
        Some(name) => Ok(LoadBalance::Named(name)),
        None => Err(one_of(Algorithm::SELECTABLE).into()),
    }
}

/// `a, b or c`
fn one_of(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.concat(),
    }
}

/// True for `1.0`.
pub fn is_http10(text: &str) -> Parsed<bool> {
    match text {
        "1.0" => Ok(true),
        "1.1" => Ok(false),
        _ => Err("1.0 or 1.1".into()),
    }
}
