//! Replacements in redirects and cookies of upstreams.

use sluice_filter_config::LARGEST_PATTERN;
use sluice_filter_core::{BacktrackingShape, Pattern as Compiled, Refusal};
use sluice_ir::{Expression, Replacement, Substitution, SubstitutionPart};
use sluice_pattern::Subject;

use crate::expression;
use crate::template::group;
use crate::value::{Expected, Parsed};
use crate::variables::{Segment, segments};

/// nginx knows these words beside two texts. `default` is about the name of an upstream, which no pod says.
const OFF: [&str; 2] = ["off", "default"];
/// Signs of a URL beside letters and digits.
const OF_URLS: &str = "-._~/:?#[]@!&'()*+,;=%";
const LONGEST: usize = 1000;
/// The most groups of a pattern: those that have a name, from `$1`.
pub const MAX_GROUPS: u8 = 9;

/// Text or pattern that is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// Text that the upstream sends.
    Text(Expression),
    /// The whole of what a pattern is found in.
    Pattern(Pattern),
}

/// A pattern that data planes take, and the filter as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    any_case: bool,
    backtracking: bool,
    groups: u8,
}

/// `proxy-redirect-from`; `None` is that nothing is replaced.
pub fn redirect_from(text: &str) -> Parsed<Option<Replaced>> {
    match unquoted(text) {
        word if OFF.contains(&word) => Ok(None),
        word => replaced(word, OF_URLS).map(Some),
    }
}

/// `proxy-redirect-to`, with the groups of a pattern; `None` is that nothing is replaced.
pub fn redirect_to(text: &str) -> Parsed<Option<Substitution>> {
    match unquoted(text) {
        word if OFF.contains(&word) => Ok(None),
        word => substitution(word, OF_URLS).map(Some),
    }
}

/// `proxy-cookie-domain`; `None` is that nothing is replaced. Patterns are found whatever case letters have.
pub fn cookie_domain(text: &str) -> Parsed<Option<Replacement>> {
    let replacement = pair(text, "-._", "off, or two domains with a blank between")?;
    Ok(replacement.map(|mut replacement| {
        if let Replacement::Pattern { any_case, .. } = &mut replacement {
            *any_case = true;
        }
        replacement
    }))
}

/// `proxy-cookie-path`; `None` is that nothing is replaced.
pub fn cookie_path(text: &str) -> Parsed<Option<Replacement>> {
    pair(
        text,
        "-._~/:@!&'()*+,=%",
        "off, or two paths with a blank between",
    )
}

/// One in the place of the other. Only a pattern has groups; one that it does not have is empty, as in nginx.
pub fn replacement(from: Replaced, to: Substitution) -> Parsed<Replacement> {
    match from {
        Replaced::Text(from) => match to.0.as_slice() {
            [SubstitutionPart::Text(to)] => Ok(Replacement::Text {
                from,
                to: to.clone(),
            }),
            _ => Err("a text without $1, which needs a pattern (~^http://(.*)$) to replace".into()),
        },
        Replaced::Pattern(pattern) => {
            let is_there = |part: &SubstitutionPart| !matches!(part, SubstitutionPart::Group(group) if *group > pattern.groups);
            Ok(Replacement::Pattern {
                pattern: pattern.text,
                any_case: pattern.any_case,
                backtracking: pattern.backtracking,
                to: Substitution(to.0.into_iter().filter(is_there).collect()),
            })
        }
    }
}

/// Two texts, the second of which replaces the first.
fn pair(text: &str, signs: &str, expected: &'static str) -> Parsed<Option<Replacement>> {
    if unquoted(text) == OFF[0] {
        return Ok(None);
    }
    let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let [from, to] = words.as_slice() else {
        return Err(expected.into());
    };
    let from = replaced(unquoted(from), signs)?;
    let to = substitution(unquoted(to), signs)?;
    replacement(from, to).map(Some)
}

/// nginx's quotes mean nothing around a word without blanks.
fn unquoted(word: &str) -> &str {
    let inner = |quote| word.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(word)
}

/// nginx takes what begins with `~` for a pattern.
fn replaced(text: &str, signs: &str) -> Parsed<Replaced> {
    if let Some(text) = text.strip_prefix("~*") {
        pattern(text, true).map(Replaced::Pattern)
    } else if let Some(text) = text.strip_prefix('~') {
        pattern(text, false).map(Replaced::Pattern)
    } else {
        checked(text, signs)?;
        expression::for_headers(text).map(Replaced::Text)
    }
}

/// nginx itself reads `\\` as one backslash, so nobody has meant two.
fn pattern(text: &str, any_case: bool) -> Parsed<Pattern> {
    let subject = if any_case {
        Subject::TextInAnyCase
    } else {
        Subject::Text
    };
    let wrong = |wrong: String| {
        Expected::from(format!(
            "behind ~ a regular expression that Sluice supports, not {wrong}"
        ))
    };
    if text.contains(r"\\") || !text.chars().all(|letter| letter.is_ascii_graphic()) {
        return Err(wrong(r"one with \\, blanks or more than ASCII".to_owned()));
    }
    let text = &*sluice_pattern::with_flags_in_groups(text);
    let (groups, backtracking) = match sluice_pattern::check(text, subject) {
        Ok(_) if Compiled::compile(text, any_case).is_none() => {
            let large = format!("one that compiles to more than {LARGEST_PATTERN} bytes");
            return Err(wrong(large));
        }
        Ok(shape) => (shape.groups, false),
        Err(not_shared) => match BacktrackingShape::of(text, any_case) {
            Ok(shape) => (shape.groups, true),
            Err(Refusal::NotNeeded) => return Err(wrong(not_shared)),
            Err(Refusal::Wrong(text)) => return Err(wrong(text)),
        },
    };
    if groups > MAX_GROUPS {
        return Err(wrong(format!("one of more than {MAX_GROUPS} groups")));
    }
    Ok(Pattern {
        text: text.to_owned(),
        any_case,
        backtracking,
        groups,
    })
}

/// A text with variables and groups.
fn substitution(text: &str, signs: &str) -> Parsed<Substitution> {
    checked(text, signs)?;
    let (mut parts, mut between) = (Vec::new(), String::new());
    for segment in segments(text) {
        match segment {
            Segment::Text(text) => between.push_str(text),
            Segment::Dollar => between.push('$'),
            Segment::Variable { name, braced: true } => between.push_str(&format!("${{{name}}}")),
            Segment::Variable { name, .. } => match group(name) {
                None => between.push_str(&format!("${name}")),
                Some((group, behind)) => {
                    push(&mut parts, &mut between)?;
                    parts.push(SubstitutionPart::Group(group));
                    between.push_str(behind);
                }
            },
        }
    }
    push(&mut parts, &mut between)?;
    Ok(Substitution(parts))
}

fn push(parts: &mut Vec<SubstitutionPart>, text: &mut String) -> Parsed<()> {
    if !text.is_empty() {
        let text = expression::for_headers(&std::mem::take(text))?;
        parts.push(SubstitutionPart::Text(text));
    }
    Ok(())
}

/// A text of letters, digits and these signs, with variables in it.
fn checked(text: &str, signs: &str) -> Parsed<()> {
    let is_known = |letter: char| {
        letter.is_ascii_alphanumeric() || "${}".contains(letter) || signs.contains(letter)
    };
    if text.is_empty() || text.len() > LONGEST || !text.chars().all(is_known) {
        return Err(Expected::from(
            "off, or letters, digits, variables and signs of URLs; a pattern begins with ~",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Expression {
        Expression::literal(text)
    }

    fn text(from: &str, to: &str) -> Replacement {
        Replacement::Text {
            from: literal(from),
            to: literal(to),
        }
    }

    fn shown(replacement: &Replacement) -> String {
        serde_json::to_string(replacement).unwrap()
    }

    #[test]
    fn two_words_replace_one_another() {
        assert_eq!(cookie_path("/one/  /"), Ok(Some(text("/one/", "/"))));
        assert_eq!(cookie_path("\"/one/\" '/'"), Ok(Some(text("/one/", "/"))));
        assert_eq!(
            (cookie_path("off"), cookie_domain("off")),
            (Ok(None), Ok(None))
        );
        assert_eq!(
            (redirect_from("off"), redirect_from("default")),
            (Ok(None), Ok(None))
        );
        let replaced = Replaced::Text(literal("http://a/"));
        assert_eq!(redirect_from("http://a/"), Ok(Some(replaced)));
    }

    #[test]
    fn behind_a_tilde_is_a_pattern_and_its_groups_are_numbers() {
        let path = cookie_path("~*^/user/(.+) /u/$1-${http_x}$2x")
            .unwrap()
            .unwrap();
        let expected = r#"{"pattern":"^/user/(.+)","any_case":true,"to":"/u/$1-${header x}x"}"#;
        assert_eq!(shown(&path), expected);
        let quoted = cookie_path("\"~^/[0-9]{2}/\" /").unwrap().unwrap();
        assert_eq!(shown(&quoted), r#"{"pattern":"^/[0-9]{2}/","to":"/"}"#);
        let steps_back = cookie_path(r"~^/(?!a)(.)\1 /$1").unwrap().unwrap();
        let expected = r#"{"pattern":"^/(?!a)(.)\\1","backtracking":true,"to":"/$1"}"#;
        assert_eq!(shown(&steps_back), expected);
        let domain = cookie_domain(r"~\.(a) $1.b").unwrap().unwrap();
        assert_eq!(
            shown(&domain),
            r#"{"pattern":"\\.(a)","any_case":true,"to":"$1.b"}"#
        );
        let from = redirect_from("~^http://[^/]+/(.*)$").unwrap().unwrap();
        let to = redirect_to("https://$http_host/$1").unwrap().unwrap();
        let redirect = replacement(from, to.clone()).unwrap();
        let expected = r#"{"pattern":"^http://[^/]+/(.*)$","to":"https://$http_host/$1"}"#;
        assert_eq!(shown(&redirect), expected);
        let from = redirect_from("http://a/").unwrap().unwrap();
        assert!(replacement(from, to).is_err(), "a text has no groups");
    }

    #[test]
    fn a_text_that_says_more_than_a_text_is_refused() {
        for bad in [
            "/",
            "/a /b /c",
            "/ \"/; Secure\"",
            "/ /;",
            "/ ~^/",
            "~^/(?<=a*) /",
            r"~(a)\2 /",
            r"~a\\.b /",
            "~(a /",
            "~(a{50}){50}b /",
            "~()()()()()()()()()() /",
            "/ $nonsense",
            "~a $nonsense",
            "~(a) $12",
            "~(a) ${1}",
            "/ $1",
            "",
        ] {
            assert!(cookie_path(bad).is_err(), "{bad:?}");
        }
        for bad in ["a", "a b c", "~( y", "a/b c", "a $cookie_x"] {
            assert!(cookie_domain(bad).is_err(), "{bad:?}");
        }
        for bad in ["a b", "~^http( ", "http://$x", "a\"b", "a\\b", "{$", "~é"] {
            assert!(redirect_from(bad).is_err(), "{bad:?}");
        }
    }
}
