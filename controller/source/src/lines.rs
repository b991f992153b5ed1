//! Lines of a document's fields: `spec.rules[0].host` is in line 9.
//!
//! ```text
//!   text --granit-parser--> events --> a node per field: (node that it is in, key) -> line
//! ```
//!
//! Absent: values, and what an alias stands for. A field is where its key is written.

use std::collections::HashMap;

use granit_parser::{Event, Parser};

/// The document as a whole, as a field.
pub(crate) const DOCUMENT: &str = "";

/// Lines of the fields of one document.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Line of each node. The first is the document.
    lines: Vec<usize>,
    /// Nodes by the node that they are in.
    children: HashMap<(usize, Key), usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Name(String),
    Position(usize),
}

/// A collection that is being read.
struct Open {
    node: usize,
    next: Next,
}

/// Expected next in it.
enum Next {
    Key,
    /// The value of this node.
    Value(usize),
    Item(usize),
}

impl Lines {
    /// Reads a document that begins in a line of its manifest. From a mistake on, fields are where the last one before it is.
    pub(crate) fn new(document: &str, first_line: usize) -> Self {
        let mut lines = Lines {
            lines: Vec::new(),
            children: HashMap::new(),
        };
        let mut open: Vec<Open> = Vec::new();
        for event in Parser::new_from_str(document) {
            let Ok((event, span)) = event else { break };
            let line = first_line + span.start.line().saturating_sub(1);
            match event {
                Event::Scalar(text, ..) => lines.begin(&mut open, Some(&text), line, None),
                Event::Alias(_) => lines.begin(&mut open, None, line, None),
                Event::MappingStart(..) => lines.begin(&mut open, None, line, Some(Next::Key)),
                Event::SequenceStart(..) => lines.begin(&mut open, None, line, Some(Next::Item(0))),
                Event::MappingEnd | Event::SequenceEnd => drop(open.pop()),
                _ => {}
            }
        }
        if lines.lines.is_empty() {
            lines.lines.push(first_line);
        }
        lines
    }

    /// A node begins; `inner`: of a collection, what comes next in it.
    fn begin(
        &mut self,
        open: &mut Vec<Open>,
        text: Option<&str>,
        line: usize,
        inner: Option<Next>,
    ) {
        let node = match open.last_mut() {
            None => self.add(None, line),
            Some(Open { node, next }) => match next {
                // A collection as a key has no name.
                Next::Key => {
                    let name = text.unwrap_or_default().to_owned();
                    let child = self.add(Some((*node, Key::Name(name))), line);
                    *next = Next::Value(child);
                    child
                }
                Next::Value(child) => {
                    let child = *child;
                    *next = Next::Key;
                    child
                }
                Next::Item(position) => {
                    let child = self.add(Some((*node, Key::Position(*position))), line);
                    *position += 1;
                    child
                }
            },
        };
        open.extend(inner.map(|next| Open { node, next }));
    }

    fn add(&mut self, place: Option<(usize, Key)>, line: usize) -> usize {
        let node = self.lines.len();
        self.lines.push(line);
        if let Some(place) = place {
            self.children.insert(place, node);
        }
        node
    }

    /// The line of a field such as `spec.rules[0].host`, or of the nearest one around it that is written.
    pub(crate) fn nearest(&self, field: &str) -> usize {
        let (mut node, mut rest) = (0, field);
        while let Some((child, after)) = self.child(node, rest) {
            (node, rest) = (child, after);
        }
        self.lines.get(node).copied().unwrap_or(1)
    }

    /// The field of a node that a path begins with, and the rest of the path. Names may have dots in them: the longest counts.
    fn child<'a>(&self, node: usize, path: &'a str) -> Option<(usize, &'a str)> {
        let find = |key| self.children.get(&(node, key)).copied();
        if let Some((position, rest)) = path.strip_prefix('[').and_then(|p| p.split_once(']')) {
            let child = find(Key::Position(position.parse().ok()?))?;
            return Some((child, rest.strip_prefix('.').unwrap_or(rest)));
        }
        let ends = path.match_indices(['.', '[']).map(|(end, _)| end);
        let mut ends: Vec<usize> = ends.chain([path.len()]).collect();
        ends.reverse();
        ends.into_iter().find_map(|end| {
            let (name, rest) = path.split_at(end);
            let child = find(Key::Name(name.to_owned()))?;
            Some((child, rest.strip_prefix('.').unwrap_or(rest)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INGRESS: &str = "\
# A comment.
kind: Ingress
metadata:
  annotations:
    a.b/c: |
      return 200;
      deny all;
    a.b/d: x
spec:
  rules:
  - host: one
    http: &http
      paths:
      - path: /
  - host: two
    http: *http
";

    #[test]
    fn a_field_is_where_its_key_is() {
        let lines = Lines::new(INGRESS, 1);
        for (field, line) in [
            (DOCUMENT, 2),
            ("kind", 2),
            ("metadata.annotations.a.b/c", 5),
            ("metadata.annotations.a.b/d", 8),
            ("spec.rules[0].host", 11),
            ("spec.rules[0].http.paths[0].path", 14),
            ("spec.rules[1].host", 15),
        ] {
            assert_eq!(lines.nearest(field), line, "{field}");
        }
    }

    #[test]
    fn a_field_that_is_not_written_is_where_the_nearest_around_it_is() {
        let lines = Lines::new(INGRESS, 1);
        for (field, line) in [
            ("metadata.annotations.a.b/e", 4),
            ("metadata.name", 3),
            ("spec.rules[0].http.paths[0].pathType", 14),
            ("spec.rules[1].http.paths[0].path", 16),
            ("spec.rules[9]", 10),
            ("spec.rules[x", 10),
            ("endpoints.addresses", 2),
        ] {
            assert_eq!(lines.nearest(field), line, "{field}");
        }
    }

    #[test]
    fn json_and_flow_style_have_lines() {
        let lines = Lines::new(
            "{\n  \"items\": [\n    {\"kind\": \"A\"},\n    {\n\"kind\": \"B\"}]}",
            7,
        );
        assert_eq!(lines.nearest("items[0]"), 9);
        assert_eq!(lines.nearest("items[1].kind"), 11);
    }

    #[test]
    fn what_is_after_a_mistake_is_where_the_last_field_before_it_is() {
        assert_eq!(Lines::new("a:\n  b: [", 3).nearest("a.b"), 4);
        assert_eq!(Lines::new("", 3).nearest("a"), 3);
    }
}
