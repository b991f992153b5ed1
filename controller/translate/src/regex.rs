//! Regular expressions of tenants. ingress-nginx takes PCRE; a data plane that takes RE2 refuses everything at once when
//! it does not know a single one. So only what both know, and mean the same by, gets through; what does not is named.

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassSet, ClassSetItem, ErrorKind, FlagsItemKind, GroupKind, LiteralKind,
    RepetitionKind, RepetitionRange,
};

use crate::pcre;

/// Groups within groups.
const DEEPEST: u32 = 20;
/// Characters of a pattern.
const LONGEST: usize = 1000;
/// States that it comes to, roughly: what a linear-time engine pays for each byte of a path at the most.
const LARGEST: u64 = 5000;

/// What there is to know about a pattern that every data plane takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// How many groups capture.
    pub(crate) groups: u8,
    /// Whether there are alternatives outside all groups.
    pub(crate) alternatives: bool,
}

/// The error is what is wrong, to be read after "expected a regular expression that RE2 and PCRE share".
pub(crate) fn check(pattern: &str) -> Result<Shape, String> {
    if pattern.len() > LONGEST {
        return Err(format!("{} characters are more than {LONGEST}", pattern.len()));
    }
    let ast = ParserBuilder::new().nest_limit(DEEPEST).build().parse(pattern).map_err(|error| match error
        .kind()
    {
        ErrorKind::UnsupportedLookAround => "lookaround such as (?!...) or (?=...)".to_owned(),
        ErrorKind::UnsupportedBackreference => "a backreference such as \\1".to_owned(),
        other => other.to_string(),
    })?;
    let mut groups = 0;
    let size = size(&ast, &mut groups)?;
    if size > LARGEST {
        return Err(format!("repetitions that come to {size} states, more than {LARGEST}"));
    }
    if !pcre::takes(&ast) {
        return Err("repetitions that come to more than PCRE takes".to_owned());
    }
    let groups = u8::try_from(groups).map_err(|_| "more than 255 groups".to_owned())?;
    Ok(Shape { groups, alternatives: matches!(ast, Ast::Alternation(_)) })
}

/// Roughly how many states this comes to.
fn size(ast: &Ast, groups: &mut u32) -> Result<u64, String> {
    match ast {
        Ast::Empty(_) => Ok(0),
        Ast::Dot(_) | Ast::ClassPerl(_) => Ok(1),
        Ast::Literal(literal) => character(&literal.kind).map(|()| 1),
        Ast::Assertion(assertion) => match assertion.kind {
            AssertionKind::StartLine
            | AssertionKind::EndLine
            | AssertionKind::WordBoundary
            | AssertionKind::NotWordBoundary => Ok(1),
            _ => Err("an unusual assertion".to_owned()),
        },
        Ast::ClassBracketed(class) => set(&class.kind).map(|()| 1),
        Ast::Repetition(repetition) => {
            if matches!(*repetition.ast, Ast::Repetition(_)) {
                return Err("a repetition of a repetition, such as a possessive a++".to_owned());
            }
            let times = times(&repetition.op.kind)?;
            Ok(size(&repetition.ast, groups)?.saturating_mul(times))
        }
        Ast::Group(group) => {
            match &group.kind {
                GroupKind::CaptureIndex(_) => *groups += 1,
                GroupKind::NonCapturing(flags) if flags.items.is_empty() => {}
                GroupKind::NonCapturing(flags) => {
                    let only_case = flags.items.iter().all(|item| {
                        matches!(item.kind, FlagsItemKind::Flag(regex_syntax::ast::Flag::CaseInsensitive))
                    });
                    only_case.then_some(()).ok_or("flags other than i")?;
                }
                GroupKind::CaptureName { .. } => return Err("a group with a name".to_owned()),
            }
            size(&group.ast, groups)
        }
        Ast::Alternation(alternation) => sum(&alternation.asts, groups),
        Ast::Concat(concat) => sum(&concat.asts, groups),
        Ast::Flags(_) => Err("flags in the middle".to_owned()),
        Ast::ClassUnicode(_) => Err("a Unicode class such as \\pL".to_owned()),
    }
}

fn sum(asts: &[Ast], groups: &mut u32) -> Result<u64, String> {
    asts.iter().try_fold(asts.len() as u64, |sum, ast| Ok(sum.saturating_add(size(ast, groups)?)))
}

fn times(kind: &RepetitionKind) -> Result<u64, String> {
    const MOST: u32 = 1000;
    let most = match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore | RepetitionKind::OneOrMore => 1,
        RepetitionKind::Range(RepetitionRange::Exactly(most) | RepetitionRange::AtLeast(most)) => *most,
        RepetitionKind::Range(RepetitionRange::Bounded(_, most)) => *most,
    };
    if most > MOST { Err(format!("more than {MOST} repetitions")) } else { Ok(u64::from(most.max(1))) }
}

fn character(kind: &LiteralKind) -> Result<(), String> {
    match kind {
        LiteralKind::Verbatim | LiteralKind::Meta | LiteralKind::Superfluous => Ok(()),
        _ => Err("a character by its number or name".to_owned()),
    }
}

fn set(set: &ClassSet) -> Result<(), String> {
    match set {
        ClassSet::Item(item) => set_item(item),
        ClassSet::BinaryOp(_) => Err("an operation on classes".to_owned()),
    }
}

fn set_item(item: &ClassSetItem) -> Result<(), String> {
    match item {
        ClassSetItem::Empty(_) | ClassSetItem::Ascii(_) | ClassSetItem::Perl(_) => Ok(()),
        ClassSetItem::Literal(literal) => character(&literal.kind),
        ClassSetItem::Range(range) => character(&range.start.kind).and(character(&range.end.kind)),
        ClassSetItem::Union(union) => union.items.iter().try_for_each(set_item),
        ClassSetItem::Unicode(_) => Err("a Unicode class such as \\pL".to_owned()),
        ClassSetItem::Bracketed(_) => Err("a class in a class".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_known_to_both() {
        for (pattern, groups) in [
            ("/svc(/|$)(.*)", 2),
            ("/id/[0-9]{3}$", 0),
            ("/api/v[12]/(?:a|b)/(.+)", 1),
            (r"/a\.b\-c\/d", 0),
            ("/?(.*)", 1),
            (r"/[\w-]+\d*?", 0),
            ("/(?i:FOO)", 0),
        ] {
            assert_eq!(check(pattern), Ok(Shape { groups, alternatives: false }), "{pattern}");
        }
        assert!(check("/a|/b").unwrap().alternatives);
    }

    #[test]
    fn what_only_pcre_knows_is_named() {
        for (pattern, named) in [
            ("/(?!admin).*", "lookaround"),
            ("/(?<=a)b", "lookaround"),
            (r"/(a)\1", "backreference"),
            ("/a++", "repetition of a repetition"),
            ("/(?<name>a)", "group with a name"),
            (r"/\pL", "Unicode"),
            ("/[a&&b]", "operation on classes"),
            ("/(?s)a", "flags"),
            ("/(a", "unclosed"),
            (r"/\x41", "by its number"),
        ] {
            let error = check(pattern).unwrap_err();
            assert!(error.contains(named), "{pattern}: {error}");
        }
    }

    #[test]
    fn what_costs_too_much_is_refused() {
        assert!(check("/(((a{100}){100}){100})").is_err());
        assert!(check("/a{1001}").is_err());
        assert!(check(&"(".repeat(500)).is_err());
        assert!(check(&format!("/{}", "a".repeat(LONGEST))).is_err());
    }
}
