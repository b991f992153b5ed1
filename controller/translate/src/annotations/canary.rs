//! A second backend for some of the requests.

use sluice_filter_config::LARGEST_PATTERN;
use sluice_filter_core::Pattern;
use sluice_ir::{CanaryHeader, CanaryRules, CanaryValue};
use sluice_pattern::Subject;
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::risk::Risk;

const TOTAL: u32 = 100;

pub(super) const GROUP: Group = Group {
    title: "Canaries",
    annotations: &[
        annotation("canary", Value::Bool, Risk::Low, Scope::Ingress)
            .partly("a canary must be in the namespace of its main Ingress"),
        annotation(
            "canary-by-header",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "canary-by-header-value",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation(
            "canary-by-header-pattern",
            Value::Regex,
            Risk::Medium,
            Scope::Ingress,
        )
        .partly("lookaround and backreferences are reported"),
        annotation(
            "canary-by-cookie",
            Value::Text,
            Risk::Medium,
            Scope::Ingress,
        )
        .full(),
        annotation("canary-weight", Value::Int, Risk::Low, Scope::Ingress).full(),
        annotation("canary-weight-total", Value::Int, Risk::Low, Scope::Ingress).full(),
    ],
};

/// The rules of a canary; `None`: the Ingress is none.
pub(super) fn canary(view: &mut View<'_, '_>) -> Option<CanaryRules> {
    let is_canary = view.flag("canary");
    let total = view
        .read("canary-weight-total", value::count)
        .filter(|total| *total > TOTAL)
        .unwrap_or(TOTAL);
    let rules = CanaryRules {
        header: header(view),
        cookie: view.read("canary-by-cookie", token),
        weight: view
            .read("canary-weight", value::count)
            .unwrap_or_default()
            .min(total),
        total,
    };
    is_canary.then_some(rules)
}

fn header(view: &mut View<'_, '_>) -> Option<CanaryHeader> {
    let exact = view
        .text("canary-by-header-value")
        .map(|text| CanaryValue::Exact(text.to_owned()));
    let readable =
        |text: &str| sluice_pattern::check(text, Subject::Text).and_then(|_| fits_the_filter(text));
    let pattern = view
        .text("canary-by-header-pattern")
        .map(|text| match readable(text) {
            Ok(()) => CanaryValue::Matches(text.to_owned()),
            Err(wrong) => {
                let reason =
                    format!("expected a regular expression that RE2 and PCRE share, got {wrong}");
                let otherwise = "requests with the header go to the main backend";
                view.not_honoured("canary-by-header-pattern", reason, otherwise);
                CanaryValue::Invalid
            }
        });
    let name = view
        .read("canary-by-header", value::header_name)?
        .to_ascii_lowercase();
    Some(CanaryHeader {
        name,
        value: exact.or(pattern).unwrap_or(CanaryValue::AlwaysNever),
    })
}

/// The filter is the engine that runs it, so it is measured as the filter compiles it.
fn fits_the_filter(pattern: &str) -> Result<(), String> {
    match Pattern::compile(pattern, false) {
        Some(_) => Ok(()),
        None => Err(format!(
            "one that compiles to more than {LARGEST_PATTERN} bytes"
        )),
    }
}

/// RFC 6265: the name of a cookie.
fn token(text: &str) -> Parsed<String> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if text.bytes().all(token) {
        Ok(text.to_owned())
    } else {
        Err("the name of a cookie".into())
    }
}
