//! Texts that a regular expression matches, generated from it.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Bytes of a text; a pattern that needs more has no sample.
const LONGEST: usize = 512;
/// Bytes that are taken first where a class leaves a choice.
const PREFERRED: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_/.";

/// A choice where a pattern leaves one.
#[derive(Clone, Copy)]
struct Choice {
    /// Repetitions beyond the fewest.
    more: u32,
    /// Alternative, counted round.
    alternative: usize,
}

/// Different texts that a pattern may match, the shortest first. Whoever uses them checks that it does: lookaround and boundaries are not
/// obeyed here.
pub(crate) fn samples(pattern: &str) -> Vec<Vec<u8>> {
    let parser = regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .build()
        .parse(pattern);
    let Ok(hir) = parser else {
        return Vec::new();
    };
    let mut texts: Vec<Vec<u8>> = Vec::new();
    for (more, alternative) in [(0, 0), (1, 0), (0, 1), (1, 2)] {
        let mut text = Vec::new();
        let choice = Choice { more, alternative };
        if write(&hir, choice, &mut text).is_some() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// `None`: nothing matches, or nothing so short.
fn write(hir: &Hir, choice: Choice, text: &mut Vec<u8>) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.extend_from_slice(&literal.0),
        HirKind::Class(class) => text.push(one_of(class, choice)?),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            let times = repetition.min.saturating_add(choice.more).min(most);
            for _ in 0..times {
                write(&repetition.sub, choice, text)?;
                if text.len() > LONGEST {
                    return None;
                }
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, choice, text)?,
        HirKind::Concat(parts) => {
            for part in parts {
                write(part, choice, text)?;
            }
        }
        HirKind::Alternation(parts) => {
            let part = parts.get(choice.alternative.checked_rem(parts.len())?)?;
            write(part, choice, text)?;
        }
    }
    (text.len() <= LONGEST).then_some(())
}

fn one_of(class: &Class, choice: Choice) -> Option<u8> {
    let has = |byte: u8| match class {
        Class::Bytes(class) => class
            .ranges()
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&byte)),
        Class::Unicode(class) => class
            .ranges()
            .iter()
            .any(|range| (range.start()..=range.end()).contains(&char::from(byte))),
    };
    let mut preferred = PREFERRED.iter().copied().filter(|byte| has(*byte));
    let first = preferred.clone().next();
    preferred
        .nth(choice.alternative)
        .or(first)
        .or_else(|| (0..=0x7f).find(|byte| has(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pattern: &str) -> Vec<String> {
        let texts = samples(pattern).into_iter();
        texts.map(|text| String::from_utf8(text).unwrap()).collect()
    }

    #[test]
    fn every_choice_of_a_pattern_is_made_in_some_text() {
        assert_eq!(texts("/a(/|$)(.*)"), ["/a/", "/a/a", "/a", "/a/c"]);
        assert_eq!(texts("/v[0-9]+/x?"), ["/v0/", "/v00/x", "/v1/", "/v22/x"]);
        assert_eq!(texts("/(api|web|old)"), ["/api", "/web", "/old"]);
        assert_eq!(texts("/[^/]+/b"), ["/a/b", "/aa/b", "/b/b", "/cc/b"]);
        assert_eq!(texts("/plain"), ["/plain"]);
    }

    #[test]
    fn what_is_no_pattern_or_needs_too_much_has_no_text() {
        assert!(texts("(").is_empty());
        assert!(texts("a{600}").is_empty());
        assert!(texts("((a{100}){100}){100}").is_empty());
    }
}
