//! The text format of Prometheus, written sample by sample into chunks that all readers of a page share.

use std::fmt::{Display, Write as _};

use hyper::body::Bytes;

/// Bytes of a chunk, at most if lines are no longer than `LINE`.
pub(super) const CHUNK: usize = 64 << 10;
/// Bytes of a line: labels of 256 bytes each, with a backslash before every one.
const LINE: usize = 8 << 10;

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct Text {
    full: Vec<Bytes>,
    last: String,
}

/// A family on it. One without samples has no header.
pub(super) struct FamilyText<'a> {
    text: &'a mut Text,
    name: &'a str,
    help: &'a str,
    kind: &'static str,
    has_header: bool,
}

impl Text {
    /// Begins a family.
    pub(super) fn family<'a>(
        &'a mut self,
        name: &'a str,
        help: &'a str,
        kind: &'static str,
    ) -> FamilyText<'a> {
        FamilyText {
            text: self,
            name,
            help,
            kind,
            has_header: false,
        }
    }

    /// Lines that are written already.
    pub(super) fn append(&mut self, lines: &str) {
        if self.last.capacity() == 0 {
            self.last.reserve_exact(CHUNK);
        }
        self.last.push_str(lines);
        self.end_line();
    }

    pub(super) fn into_chunks(mut self) -> Vec<Bytes> {
        self.full.push(Bytes::from(self.last));
        self.full
    }

    fn end_line(&mut self) {
        if self.last.len() + LINE > CHUNK {
            let full = std::mem::replace(&mut self.last, String::with_capacity(CHUNK));
            self.full.push(Bytes::from(full));
        }
    }
}

impl FamilyText<'_> {
    /// A line. The labels are those of `labels`; a bucket has its bound beside them.
    pub(super) fn sample(
        &mut self,
        suffix: &str,
        labels: &str,
        bound: Option<&str>,
        value: impl Display,
    ) {
        let (name, help, kind) = (self.name, self.help, self.kind);
        if !self.has_header {
            self.has_header = true;
            let header = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
            self.text.append(&header);
        }
        let line = &mut self.text.last;
        for piece in [name, suffix, "{", labels] {
            line.push_str(piece);
        }
        if let Some(bound) = bound {
            for piece in [",le=\"", bound, "\""] {
                line.push_str(piece);
            }
        }
        // Into a string it does not fail.
        writeln!(line, "}} {value}").ok();
        self.text.end_line();
    }
}

/// Bytes of a label, with a comma.
pub(super) fn label_len(name: &str, value: &str) -> usize {
    let escaped = value
        .bytes()
        .filter(|byte| matches!(byte, b'\\' | b'"' | b'\n'));
    name.len() + value.len() + escaped.count() + "=\"\",".len()
}

/// Labels as they are between the braces, by name, as Prometheus' clients write them.
pub(super) fn labels<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    let mut text = String::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        for letter in value.chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                letter => text.push(letter),
            }
        }
        text.push('"');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_in_order_and_no_value_ends_before_its_quote() {
        let pairs = [("b", "1\"2\\3\n4"), ("a", "")];
        let text = labels(pairs.into_iter());
        assert_eq!(text, r#"a="",b="1\"2\\3\n4""#);
        let lens = pairs.map(|(name, value)| label_len(name, value));
        assert_eq!(lens.iter().sum::<usize>(), text.len() + 1);
    }

    #[test]
    fn chunks_are_whole_lines_and_no_longer_than_they_may_be() {
        let mut text = Text::default();
        let long = labels([("a", "\"".repeat(3_900).as_str())].into_iter());
        let mut family = text.family("n", "Help", "counter");
        for number in 0..100 {
            family.sample("", &long, None, number);
        }
        let chunks = text.into_chunks();
        for chunk in &chunks {
            assert!(chunk.len() <= CHUNK);
            assert!(chunk.is_empty() || chunk.ends_with(b"\n"));
        }
        let all = String::from_utf8(chunks.concat()).unwrap();
        assert_eq!(all.lines().count(), 102);
        assert_eq!(all.matches("# TYPE n counter\n").count(), 1);
    }
}
