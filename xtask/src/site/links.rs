//! Links of Markdown: what stands in `](...)` outside of code.

use std::ops::Range;

/// The targets, as ranges of the page.
pub(super) fn targets(page: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = page.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with('`') {
            at += code(rest, begins_a_line(&page[..at]));
        } else if let Some(target) = rest.strip_prefix("](") {
            let end = target.find([')', ' ', '\n']).unwrap_or(target.len());
            found.push(at + 2..at + 2 + end);
            at += 2 + end;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

fn begins_a_line(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.trim().is_empty()
}

/// Bytes of the code that begins here. Inline code that its paragraph does not close is none, and so its backticks are text.
fn code(text: &str, is_at_begin_of_line: bool) -> usize {
    let ticks = run(text);
    let is_fence = is_at_begin_of_line && ticks >= 3;
    let end = if is_fence { text.len() } else { end(text) };
    let mut at = ticks;
    while let Some(found) = text[at..end].find('`') {
        let closing = run(&text[at + found..]);
        at += found + closing;
        if closing == ticks {
            return at;
        }
    }
    if is_fence { text.len() } else { ticks }
}

/// The end of a paragraph.
fn end(text: &str) -> usize {
    text.find("\n\n").unwrap_or(text.len())
}

fn run(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

#[cfg(test)]
mod tests {
    use super::targets;

    fn found(page: &str) -> Vec<&str> {
        targets(page).into_iter().map(|at| &page[at]).collect()
    }

    #[test]
    fn targets_of_links_and_pictures_are_found() {
        let page = "[a](x.md#b), ![c](d/e.svg), [`f`](../g.md)\n| [ü](h.md \"title\") |\n[two\nlines](i.md)";
        assert_eq!(
            found(page),
            ["x.md#b", "d/e.svg", "../g.md", "h.md", "i.md"]
        );
    }

    #[test]
    fn code_has_no_links() {
        for page in [
            "`[a](b)`",
            "``[a`](b)``",
            "```\n[a](b)\n\n[a](b)\n```",
            "- a\n  ```sh\n  [a](b)\n\n  ```",
            "`two\nlines [a](b)`",
            "```\n[a](b)",
        ] {
            assert_eq!(found(page), Vec::<&str>::new(), "{page}");
        }
    }

    #[test]
    fn backtick_that_nothing_closes_is_text() {
        assert_eq!(found("a ` [a](b)\n\n`c`"), ["b"]);
        assert_eq!(found("``` [a](b) `` [c](d)"), Vec::<&str>::new());
        assert_eq!(found("x ``` [a](b) `` [c](d)"), ["b", "d"]);
    }
}
