//! Patience with the pods: timeouts, and what is tried again.

use std::num::{NonZeroU8, NonZeroU32};

use sluice_ir::{Retries, RetryOn, Timeouts};
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Risk, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::support::Support;

pub(super) const GROUP: Group = Group {
    title: "Timeouts and retries",
    annotations: &[
        annotation("proxy-connect-timeout", Value::Seconds, Risk::Low, Scope::Location).full(),
        annotation("proxy-send-timeout", Value::Seconds, Risk::Low, Scope::Location)
            .differs(
                "one timeout for both directions: the longer of proxy-send-timeout and proxy-read-timeout",
            )
            .nginx(Support::Full),
        annotation("proxy-read-timeout", Value::Seconds, Risk::Low, Scope::Location).full(),
        annotation("proxy-next-upstream", Value::Text, Risk::Medium, Scope::Location).full(),
        annotation("proxy-next-upstream-timeout", Value::Seconds, Risk::Low, Scope::Location)
            .instead("bound retries by proxy-next-upstream-tries and proxy-read-timeout")
            .nginx(Support::Full)
            .harmless(&["0"]),
        annotation("proxy-next-upstream-tries", Value::Int, Risk::Low, Scope::Location)
            .partly("0 (no limit) and more than 16 are 16"),
    ],
};

/// nginx knows no limit; there is no use in more.
const MOST_ATTEMPTS: u8 = 16;

/// As the annotations have it, else as the ConfigMap has it.
pub(super) fn timeouts(view: &mut View<'_, '_>, globals: &Globals) -> Timeouts {
    let default = globals.timeouts;
    Timeouts {
        send: view
            .read("proxy-send-timeout", value::seconds)
            .unwrap_or(default.send),
        read: view
            .read("proxy-read-timeout", value::seconds)
            .unwrap_or(default.read),
    }
}

/// Seconds until a connection is made.
pub(super) fn connect_timeout(view: &mut View<'_, '_>, globals: &Globals) -> u32 {
    view.read("proxy-connect-timeout", value::seconds)
        .unwrap_or(globals.transport.connect_timeout)
}

pub(super) fn retries(view: &mut View<'_, '_>, globals: &Globals) -> Retries {
    let default = &globals.retries;
    Retries {
        on: view
            .read("proxy-next-upstream", conditions)
            .unwrap_or_else(|| default.on.clone()),
        attempts: view
            .read("proxy-next-upstream-tries", tries)
            .unwrap_or(default.attempts),
        timeout: view
            .read("proxy-next-upstream-timeout", time_limit)
            .unwrap_or(default.timeout),
    }
}

/// nginx: 0 is no limit.
pub(crate) fn time_limit(text: &str) -> Parsed<Option<NonZeroU32>> {
    Ok(NonZeroU32::new(value::seconds(text)?))
}

/// nginx: 0 is no limit. A request is not tried more often than this, however many pods there are.
pub(crate) fn tries(text: &str) -> Parsed<NonZeroU8> {
    let number = value::int(text)?;
    if number < 0 {
        return Err("an integer from 0".into());
    }
    let attempts = u8::try_from(number)
        .unwrap_or(MOST_ATTEMPTS)
        .min(MOST_ATTEMPTS);
    Ok(NonZeroU8::new(attempts).unwrap_or(NonZeroU8::new(MOST_ATTEMPTS).unwrap_or(NonZeroU8::MIN)))
}

/// nginx's words for what is tried again.
pub(crate) fn conditions(text: &str) -> Parsed<RetryOn> {
    let mut on = RetryOn::never();
    for word in text.split_whitespace() {
        match word {
            "off" => return Ok(RetryOn::never()),
            "error" => on.error = true,
            "timeout" => on.timeout = true,
            "invalid_header" => on.invalid_header = true,
            "non_idempotent" => on.non_idempotent = true,
            _ => match word.strip_prefix("http_").and_then(status) {
                Some(status) => drop(on.statuses.insert(status)),
                None => return Err(WORDS.into()),
            },
        }
    }
    Ok(on)
}

const WORDS: &str = "off, or words of error, timeout, invalid_header, non_idempotent, http_500, http_502, http_503, \
                     http_504, http_403, http_404, http_429";

fn status(digits: &str) -> Option<u16> {
    let known = [500, 502, 503, 504, 403, 404, 429];
    known
        .into_iter()
        .find(|status| status.to_string() == digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_nginx_s_words() {
        let on = conditions("error http_503  non_idempotent").unwrap();
        assert!(on.error && !on.timeout && on.non_idempotent);
        assert_eq!(on.statuses, [503].into());
        assert_eq!(conditions("off"), conditions("error off"));
        for bad in ["http_501", "error,timeout", "errors", "http_"] {
            assert!(conditions(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_limit_of_tries_is_the_highest() {
        assert_eq!(tries("0").unwrap().get(), MOST_ATTEMPTS);
        assert_eq!(tries("3").unwrap().get(), 3);
        assert_eq!(tries("1000").unwrap().get(), MOST_ATTEMPTS);
        assert!(tries("-1").is_err());
    }
}
