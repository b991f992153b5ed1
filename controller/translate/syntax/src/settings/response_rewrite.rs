//! Replacements in redirects and cookies of upstreams.

use sluice_ir::{Expression, Replacement};

use crate::expression;
use crate::value::{Expected, Parsed};

/// nginx knows these words beside two texts. `default` is about the name of an upstream, which no pod says.
const OFF: [&str; 2] = ["off", "default"];

/// One of the two texts about redirects; `None` is that nothing is replaced.
pub fn redirect_part(text: &str) -> Parsed<Option<Expression>> {
    if OFF.contains(&text) {
        return Ok(None);
    }
    part(text, "-._~/:?#[]@!&'()*+,;=%").map(Some)
}

/// `proxy-cookie-domain`; `None` is that nothing is replaced.
pub fn cookie_domain(text: &str) -> Parsed<Option<Replacement>> {
    pair(text, "-._", "off, or two domains with a blank between")
}

/// `proxy-cookie-path`; `None` is that nothing is replaced.
pub fn cookie_path(text: &str) -> Parsed<Option<Replacement>> {
    pair(
        text,
        "-._~/:@!&'()*+,=%",
        "off, or two paths with a blank between",
    )
}

/// Two texts, the second of which replaces the first.
fn pair(text: &str, signs: &str, expected: &'static str) -> Parsed<Option<Replacement>> {
    if text == OFF[0] {
        return Ok(None);
    }
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let [from, to] = words.as_slice() else {
        return Err(expected.into());
    };
    Ok(Some(Replacement {
        from: part(from, signs)?,
        to: part(to, signs)?,
    }))
}

/// A text of letters, digits and these signs, with variables in it. To nginx a `~` at the beginning is a pattern, which
/// nobody has looked at.
fn part(text: &str, signs: &str) -> Parsed<Expression> {
    const LONGEST: usize = 1000;
    let is_known = |letter: char| {
        letter.is_ascii_alphanumeric() || "${}".contains(letter) || signs.contains(letter)
    };
    if text.is_empty()
        || text.len() > LONGEST
        || text.starts_with('~')
        || !text.chars().all(is_known)
    {
        return Err(Expected::from(
            "off, or letters, digits, variables and signs of URLs, and no pattern",
        ));
    }
    expression::for_headers(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Expression {
        Expression::literal(text)
    }

    #[test]
    fn two_words_replace_one_another() {
        let replaced = Replacement {
            from: literal("/one/"),
            to: literal("/"),
        };
        assert_eq!(cookie_path("/one/  /"), Ok(Some(replaced)));
        assert_eq!(
            (cookie_path("off"), cookie_domain("off")),
            (Ok(None), Ok(None))
        );
        assert_eq!(
            (redirect_part("off"), redirect_part("default")),
            (Ok(None), Ok(None))
        );
        assert_eq!(redirect_part("http://a/"), Ok(Some(literal("http://a/"))));
    }

    #[test]
    fn a_text_that_says_more_than_a_text_is_refused() {
        for bad in [
            "/",
            "/a /b /c",
            "/ \"/; Secure\"",
            "/ /;",
            "~^/ /",
            "/ $nonsense",
            "/ $1",
            "",
        ] {
            assert!(cookie_path(bad).is_err(), "{bad:?}");
        }
        for bad in ["a", "a b c", "~x y", "a/b c", "a $cookie_x"] {
            assert!(cookie_domain(bad).is_err(), "{bad:?}");
        }
        for bad in ["a b", "~^http", "http://$x", "a\"b", "a\\b", "{$"] {
            assert!(redirect_part(bad).is_err(), "{bad:?}");
        }
    }
}
