//! Patterns of paths, for a text in which a query follows: Envoy compares a pattern with a path alone, and headers with the query
//! as well. A path has no question mark, so what is before the first one is compared as before.

use regex_syntax::ast::{AssertionKind, Ast, Flag, Span};

use crate::class_set::Set;
use crate::re2_cost::instructions;
use crate::{DEEPEST_WRITTEN, Subject, re2};

/// Takes the rest of the text.
const QUERY: &str = r"(?:\?(?s:.*))?";
/// The end of a path; nothing of the text is left behind it.
const END: &str = r"(?:$|\?(?s:.*)$)";

/// A pattern that takes a path with and without a query, where `written` takes the whole path. `None`: RE2 would not compile it.
#[must_use]
pub fn with_query(written: &str) -> Option<String> {
    let ast = crate::parse(written, DEEPEST_WRITTEN).ok()?;
    let mut replacements = Vec::new();
    replace(&ast, &mut false, &mut replacements)?;
    let (mut text, mut done) = (String::new(), 0);
    for (span, replacement) in replacements {
        text.push_str(written.get(done..span.start.offset)?);
        text.push_str(&replacement);
        done = span.end.offset;
    }
    text.push_str(written.get(done..)?);
    text.push_str(QUERY);
    let ast = crate::parse(&text, DEEPEST_WRITTEN).ok()?;
    (instructions(&ast) <= crate::MOST_INSTRUCTIONS).then_some(text)
}

/// True if RE2 compiles a pattern of a path also with a query behind the path, and whole segments as well.
#[must_use]
pub fn is_comparable_with_query(pattern: &str, subject: Subject, alternatives: bool) -> bool {
    let written = re2(pattern, subject, alternatives);
    with_query(&format!("{written}(?:/(?s:.*))?")).is_some()
}

/// Collects what has to be written otherwise, in order. `breaks`: `.` is a line break, too.
fn replace(ast: &Ast, breaks: &mut bool, found: &mut Vec<(Span, String)>) -> Option<()> {
    let set = match ast {
        Ast::Dot(_) => Set::of_dot(*breaks),
        Ast::Literal(literal) if literal.c == '?' => Set::NONE,
        Ast::ClassPerl(class) => Set::of_perl(class),
        Ast::ClassBracketed(class) if class.negated => {
            let without = Set::of_items(&class.kind).with('?');
            found.push((class.span, without.written_negated()?));
            return Some(());
        }
        Ast::ClassBracketed(class) => Set::of(class),
        Ast::Assertion(assertion) if is_end(&assertion.kind) => {
            found.push((assertion.span, END.to_owned()));
            return Some(());
        }
        Ast::Flags(flags) => {
            let state = flags.flags.flag_state(Flag::DotMatchesNewLine);
            *breaks = state.unwrap_or(*breaks);
            return Some(());
        }
        Ast::Repetition(repetition) => return replace(&repetition.ast, breaks, found),
        Ast::Group(group) => {
            let flags = group.flags();
            let state = flags.and_then(|flags| flags.flag_state(Flag::DotMatchesNewLine));
            return replace(&group.ast, &mut state.unwrap_or(*breaks), found);
        }
        Ast::Alternation(alternation) => return all(&alternation.asts, breaks, found),
        Ast::Concat(concat) => return all(&concat.asts, breaks, found),
        Ast::Empty(_) | Ast::Literal(_) | Ast::Assertion(_) => return Some(()),
        // RE2 has no others that get here.
        Ast::ClassUnicode(_) => return None,
    };
    found.push((*ast.span(), set.without('?').written()));
    Some(())
}

fn is_end(kind: &AssertionKind) -> bool {
    matches!(kind, AssertionKind::EndLine | AssertionKind::EndText)
}

fn all(asts: &[Ast], breaks: &mut bool, found: &mut Vec<(Span, String)>) -> Option<()> {
    asts.iter().try_for_each(|ast| replace(ast, breaks, found))
}

#[cfg(test)]
mod tests {
    use regex::bytes::RegexBuilder;

    use super::*;
    use crate::check;

    #[test]
    fn a_query_makes_no_difference() {
        let paths = [
            "/", "/a", "/A", "/ab", "/a/", "/a/b", "/a]", "/a-", "/b", "/a/b/c", "/a.b", "/é",
            "/ab/", "/aa/b-c",
        ];
        let queries = ["?", "?a", "?/a", "?/a/b", "?a?b", "?b$", "?]-"];
        for pattern in [
            "/a",
            "/a$",
            "/a(/|$)(.*)",
            "/.*",
            "/(a|b$|ab)",
            "/a|/b$",
            "/[^/]+$",
            "/[^]a]$",
            "/[^a-]",
            r"/\w+\b",
            r"/\S*$",
            r"/a\W",
            r"/[\s\S]b",
            "/[[:punct:]a]",
            "/[!-z]{2}$",
            r"/a\?",
            r"/a[?]?/?$",
            "/(.)(.)?$",
            r"/a\B",
        ] {
            for subject in [Subject::Path, Subject::Text, Subject::TextInAnyCase] {
                let shape = check(pattern, subject).unwrap();
                let path_alone = re2(pattern, subject, shape.alternatives);
                let both = with_query(&path_alone).unwrap();
                let [path_alone, both] = [path_alone, both].map(|text| {
                    let whole = format!("^(?:{text})$");
                    // As Envoy compares.
                    let mut bytes = RegexBuilder::new(&whole);
                    bytes.unicode(false).build().unwrap()
                });
                for path in paths {
                    let expected = path_alone.is_match(path.as_bytes());
                    assert_eq!(
                        both.is_match(path.as_bytes()),
                        expected,
                        "{pattern}: {path}: {both}"
                    );
                    for query in queries {
                        let target = format!("{path}{query}");
                        assert_eq!(
                            both.is_match(target.as_bytes()),
                            expected,
                            "{pattern}: {target}: {both}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_written_is_none() {
        assert_eq!(with_query(&r"(?:a|\S{1,50}){1,20}".repeat(2)), None);
        assert_eq!(with_query("("), None);
        assert_eq!(with_query(r"[^\Wa]"), None);
    }
}
