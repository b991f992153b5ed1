//! YAML with comments, which no serializer writes.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sluice_syntax::is_unprintable;

/// Words that YAML 1.1 or 1.2 reads as something else than text.
const WORDS: &[&str] = &[
    "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf",
];

/// Writes a map in block style, indented.
pub(super) fn write(map: &Map<String, Value>, indent: usize, text: &mut String) {
    for (key, value) in map {
        let margin = " ".repeat(indent);
        if is_inline(value) {
            writeln!(text, "{margin}{}: {}", scalar(key), inline(value)).ok();
        } else {
            writeln!(text, "{margin}{}:", scalar(key)).ok();
            block(value, indent + 2, text);
        }
    }
}

fn block(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(map) => write(map, indent, text),
        Value::Array(items) => items.iter().for_each(|item| entry(item, indent, text)),
        _ => {}
    }
}

/// An entry of a list: the first line of its block begins with the dash.
fn entry(item: &Value, indent: usize, text: &mut String) {
    let margin = " ".repeat(indent);
    if is_inline(item) {
        writeln!(text, "{margin}- {}", inline(item)).ok();
        return;
    }
    let mut below = String::new();
    block(item, indent + 2, &mut below);
    write!(text, "{margin}- {}", below.trim_start_matches(' ')).ok();
}

fn is_inline(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// Plain where nothing can read it otherwise; else as in JSON, which is YAML, too.
fn scalar(text: &str) -> String {
    let mut letters = text.chars();
    let begins = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic());
    let goes_on = letters.all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter));
    let is_word = WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    if begins && goes_on && !is_word {
        return text.to_owned();
    }
    let quoted = Value::String(text.to_owned()).to_string();
    // JSON leaves some of what a terminal takes for a command.
    quoted.chars().fold(String::new(), |mut all, letter| {
        match is_unprintable(letter) {
            true => write!(all, "\\U{:08X}", u32::from(letter)).unwrap_or_default(),
            false => all.push(letter),
        }
        all
    })
}
