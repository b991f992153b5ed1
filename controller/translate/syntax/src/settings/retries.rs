//! Retries on the next endpoint, in nginx's words.

use std::num::{NonZeroU8, NonZeroU32};

use sluice_ir::RetryOn;

use crate::value::{self, Parsed};

/// nginx knows no limit; there is no use in more.
const MAX_ATTEMPTS: u8 = 16;

const WORDS: &str = "off, or words of error, timeout, invalid_header, non_idempotent, http_500, http_502, http_503, \
                     http_504, http_403, http_404, http_429";

/// nginx: 0 is no limit.
pub fn time_limit(text: &str) -> Parsed<Option<NonZeroU32>> {
    Ok(NonZeroU32::new(value::seconds(text)?))
}

/// nginx: 0 is no limit. A request is not tried more often than this, however many pods there are.
pub fn tries(text: &str) -> Parsed<NonZeroU8> {
    let number = value::int(text)?;
    if number < 0 {
        return Err("an integer from 0".into());
    }
    let attempts = u8::try_from(number)
        .unwrap_or(MAX_ATTEMPTS)
        .min(MAX_ATTEMPTS);
    Ok(NonZeroU8::new(attempts).unwrap_or(NonZeroU8::new(MAX_ATTEMPTS).unwrap_or(NonZeroU8::MIN)))
}

/// nginx's words for what is tried again.
pub fn conditions(text: &str) -> Parsed<RetryOn> {
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
        assert_eq!(tries("0").unwrap().get(), MAX_ATTEMPTS);
        assert_eq!(tries("3").unwrap().get(), 3);
        assert_eq!(tries("1000").unwrap().get(), MAX_ATTEMPTS);
        assert!(tries("-1").is_err());
    }
}
