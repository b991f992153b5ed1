//! Values as Helm reads them: with go-yaml v2, to which `0400` is 256, `1_000` a thousand, `yEs` a text and `0x50: a` has the key `80`.
//!
//! Our parser reads YAML 1.2. It says where a scalar stands, and a plain one is read again here.

use std::fmt;

use anyhow::{anyhow, bail};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned, UserMessageFormatter};
use sluice_syntax::{excerpt, printable};

/// Reads a values file. An error names what one of both parsers may take for something else.
pub(super) fn read(text: &str) -> anyhow::Result<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Helm takes a scalar with a tag of its own for text.
    let options = serde_saphyr::options! { reject_unsupported_tags: true };
    let node = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| anyhow!(lines(&worded(&error))))?;
    Source(text).value(node, "")
}

/// The parser's error in words for whoever wrote the file: its own are for whoever calls it.
fn worded(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    match error.without_snippet() {
        Error::DuplicateMappingKey { key, location } => {
            let key = excerpt(key.as_deref().unwrap_or("a key"));
            let line = location.line();
            format!("line {line}: {key}: expected one value, got two of the same key")
        }
        Error::MultipleDocuments { location, .. } => {
            let line = location.line();
            format!("line {line}: expected one document, got a second one")
        }
        _ => format!(
            "not YAML: {}",
            error.render_with_formatter(&UserMessageFormatter)
        ),
    }
}

/// The lines of a message that quotes the file.
fn lines(message: &str) -> String {
    let lines: Vec<String> = message.lines().map(printable).collect();
    lines.join("\n")
}

/// A plain scalar as Helm reads it.
pub(super) fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        _ => match number(text) {
            Some(number) => Value::Number(number),
            None => Value::String(text.to_owned()),
        },
    }
}

fn number(text: &str) -> Option<Number> {
    if text.starts_with('_') {
        return None;
    }
    let text = text.replace('_', "");
    integer(&text).or_else(|| float(&text))
}

/// One of 64 bits; larger ones have a fraction's precision. Leading zeros make it octal.
fn integer(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (radix, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, unsigned.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, unsigned.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, unsigned.get(2..)?),
        [b'0', _, ..] => (8, unsigned.get(1..)?),
        _ => (10, unsigned),
    };
    // Not a second sign.
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let size = i128::from_str_radix(digits, radix).ok()?;
    let number = if text.starts_with('-') { -size } else { size };
    let positive = || u64::try_from(number).ok().map(Number::from);
    i64::try_from(number)
        .ok()
        .map(Number::from)
        .or_else(positive)
}

/// `1`, `.5`, `1.`, `1.5e-3`
fn float(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    // Rust reads `inf` and `nan` as well.
    let is_number = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    let value: f64 = text.parse().ok().filter(|_| is_number)?;
    whole(value)
        .map(Number::from)
        .or_else(|| Number::from_f64(value))
}

/// Helm tells no `1.0` from `1`.
fn whole(value: f64) -> Option<i64> {
    // Above it, not each number has a float of its own.
    const LIMIT: f64 = 9e15;
    let is_whole = value.fract() == 0.0 && value.abs() < LIMIT;
    is_whole.then(|| format!("{value:.0}").parse().ok())?
}

/// Text of the file.
struct Source<'a>(&'a str);

impl Source<'_> {
    fn value(&self, node: Spanned<Node>, path: &str) -> anyhow::Result<Value> {
        match node.value {
            Node::Scalar(value) => self.scalar(value, node.defined, path),
            Node::List(items) => items
                .into_iter()
                .map(|item| self.value(item, path))
                .collect(),
            Node::Map(entries) => self.map(entries, path).map(Value::Object),
        }
    }

    fn map(
        &self,
        entries: Vec<(Spanned<String>, Spanned<Node>)>,
        above: &str,
    ) -> anyhow::Result<Map<String, Value>> {
        let mut map = Map::new();
        for (key, node) in entries {
            let key = self.key(key, above)?;
            let path = match above {
                "" => key.clone(),
                above => format!("{above}.{key}"),
            };
            let value = self.value(node, &path)?;
            if map.insert(key, value).is_some() {
                bail!(
                    "{}: expected one value, got two of the same key",
                    excerpt(&path)
                );
            }
        }
        Ok(map)
    }

    fn scalar(&self, ours: Value, place: Location, path: &str) -> anyhow::Result<Value> {
        let path = excerpt(path);
        let Some(text) = self.plain(place) else {
            return match ours {
                Value::String(_) => Ok(ours),
                _ => bail!(
                    "{path}: expected a text in quotes, got a tag before it, for {ours}; write {ours}"
                ),
            };
        };
        match (scalar(text), ours) {
            // Its lines are folded.
            (Value::String(_), Value::String(ours)) => Ok(ours.into()),
            (theirs, Value::String(ours)) if !self.is_marked_as_text(place) => bail!(
                "{path}: expected a number or a text, got {}, which Helm reads as {theirs} and others as text; write {theirs} or {:?}",
                excerpt(text),
                excerpt(&ours),
            ),
            (_, Value::String(ours)) => Ok(ours.into()),
            (theirs, _) => Ok(theirs),
        }
    }

    /// A plain key that is a whole number or a word for Helm is the text of it. Of a fraction Helm makes texts of its own (`1e+07`).
    fn key(&self, key: Spanned<String>, above: &str) -> anyhow::Result<String> {
        let Some(text) = self.plain(key.defined) else {
            return Ok(key.value);
        };
        let theirs = scalar(text);
        if theirs.is_string() || self.is_marked_as_text(key.defined) {
            return Ok(key.value);
        }
        let whole = integer(&text.replace('_', "")).filter(Number::is_i64);
        let known = whole.map(|number| number.to_string());
        let known = known.or_else(|| theirs.as_bool().map(|word| word.to_string()));
        match known.filter(|_| !self.has_anchor(key.defined)) {
            Some(known) => Ok(known),
            None => bail!(
                "{}: expected a text as key, got {}, which Helm reads as {theirs}; write it in quotes",
                excerpt(if above.is_empty() { "values" } else { above }),
                excerpt(&key.value),
            ),
        }
    }

    /// Text of a scalar without quotes.
    fn plain(&self, place: Location) -> Option<&str> {
        let start = usize::try_from(place.span().byte_offset()?).ok()?;
        let length = usize::try_from(place.span().byte_len()?).ok()?;
        let text = self.0.get(start..start.checked_add(length)?)?;
        (!text.starts_with(['"', '\''])).then_some(text)
    }

    /// True of a scalar with a tag, and of lines behind `|` or `>`.
    fn is_marked_as_text(&self, place: Location) -> bool {
        let mark = self.word_before(place);
        let in_block = |rest: &str| rest.chars().all(|letter| "+-123456789".contains(letter));
        mark.starts_with('!') || mark.strip_prefix(['|', '>']).is_some_and(in_block)
    }

    /// There may be a tag before the anchor.
    fn has_anchor(&self, place: Location) -> bool {
        self.word_before(place).starts_with('&')
    }

    fn word_before(&self, place: Location) -> &str {
        let start = place
            .span()
            .byte_offset()
            .and_then(|start| usize::try_from(start).ok());
        let before = start
            .and_then(|start| self.0.get(..start))
            .unwrap_or_default();
        let ends = |letter: char| letter.is_whitespace() || "[]{},".contains(letter);
        before.trim_end().rsplit(ends).next().unwrap_or_default()
    }
}

/// A part of the file, as our parser reads it.
enum Node {
    Scalar(Value),
    List(Vec<Spanned<Node>>),
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Scalar(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Node::Map(map))
    }
}
