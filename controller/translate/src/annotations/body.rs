//! Sizes of bodies and buffers.

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::value::{self, Parsed};
use super::view::View;
use crate::global::Globals;

const STREAMED: &str = "bodies are not stored on their way";

pub(super) const GROUP: Group = Group {
    title: "Bodies and buffers",
    annotations: &[
        annotation("proxy-body-size", Value::Size, Risk::Medium, Scope::Location).full(),
        annotation("client-body-buffer-size", Value::Size, Risk::Low, Scope::Location).needless(STREAMED),
        annotation("proxy-buffering", Value::OnOff, Risk::Low, Scope::Location).needless(STREAMED),
        annotation("proxy-buffer-size", Value::Size, Risk::Low, Scope::Location)
            .needless("headers of pods may have 60 KiB in all"),
        annotation("proxy-buffers-number", Value::Int, Risk::Low, Scope::Location).needless(STREAMED),
        annotation("proxy-busy-buffers-size", Value::Size, Risk::Low, Scope::Location).needless(STREAMED),
        annotation("proxy-max-temp-file-size", Value::Size, Risk::Low, Scope::Location).needless(STREAMED),
        annotation("proxy-request-buffering", Value::OnOff, Risk::Low, Scope::Location)
            .instead("pods see a body while it comes in; set proxy-body-size, and timeouts in the pods")
            .harmless(&["off"]),
    ],
};

/// In bytes; `None` is no limit.
pub(super) fn largest(view: &mut View<'_, '_>, globals: &Globals) -> Option<u64> {
    view.read("proxy-body-size", limit).unwrap_or(globals.largest_body)
}

/// nginx: 0 is no limit. It knows no suffix `b`, so with one its own default holds.
pub(crate) fn limit(text: &str) -> Parsed<Option<u64>> {
    const NGINX: u64 = 1 << 20;
    match value::size(text)? {
        _ if text.ends_with(['b', 'B']) => Ok(Some(NGINX)),
        0 => Ok(None),
        bytes => Ok(Some(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(limit("0"), Ok(None));
        assert_eq!(limit("8m"), Ok(Some(8 << 20)));
        assert_eq!(limit("5b"), Ok(Some(1 << 20)));
        assert!(limit("8mb").is_err());
    }
}
