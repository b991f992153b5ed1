//! R3: a parser reads its whole input. A value with anything before or behind it is none, and neither is one with a character
//! that is not of its line.

use serde_json::{Value, json};
use sluice_translate::annotations::{Annotation, Value as Takes};

use crate::translation::{BAD, all, config, is_alike, meanings, none, one};

/// A right value of an annotation whose values are counted.
fn good(takes: Takes) -> &'static [&'static str] {
    match takes {
        Takes::Bool => &["true", "false"],
        Takes::OnOff => &["on", "off"],
        Takes::OneOf(values) => values,
        Takes::Int | Takes::Seconds => &["7", "308"],
        Takes::Size => &["7k"],
        Takes::Cidrs => &["192.0.2.0/24"],
        _ => &[],
    }
}

/// What only looks like the value.
fn around(good: &str) -> Vec<String> {
    let before = ["x", "!", "\u{feff}", "\u{0}", "x ", "x\n", "\"", "=", "-."];
    let behind = [
        "!", "\u{feff}", "\u{0}", " x", "\nx", "\r\nx", "\"", ";", ";x", " ;", "$", "\\", ".x",
        "\u{200b}",
    ];
    let before = before.iter().map(|junk| format!("{junk}{good}"));
    before
        .chain(behind.iter().map(|junk| format!("{good}{junk}")))
        .collect()
}

fn says_something(annotation: &Annotation, value: &str) -> bool {
    let settings = json!({"annotations-risk-level": "Critical"});
    let bad = one(annotation.name, BAD, &settings, None);
    let found = one(annotation.name, value, &settings, None);
    !is_alike(&found, &bad) || !is_alike(&none(annotation.name, &settings, None), &bad)
}

#[test]
fn value_with_surrounding_text_is_invalid() {
    let (mut effective, mut wrong) = (0, Vec::new());
    for (number, annotation) in all().enumerate() {
        effective += usize::from(
            good(annotation.value)
                .iter()
                .any(|good| says_something(annotation, good)),
        );
        let values: Vec<String> = good(annotation.value)
            .iter()
            .take(2)
            .flat_map(|good| around(good))
            .collect();
        wrong.extend(meanings(number, annotation, &values));
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    // The others cost nothing to leave out: nothing comes of them at all.
    assert!(
        effective > 50,
        "only {effective} annotations change what is served"
    );
}

/// In annotations of every kind, and in all that is made of them.
#[test]
fn no_control_character_reaches_the_configuration() {
    for (number, annotation) in all().enumerate() {
        for junk in ['\n', '\r', '\0', '\u{1b}', '\u{7f}', '\u{85}'] {
            let values = good(annotation.value)
                .iter()
                .chain(&["/a", "http://a.example/", "a"]);
            // One of them: the next annotation of its kind meets the next.
            for value in values
                .skip(number % 2)
                .step_by(2)
                .map(|good| format!("{good}{junk}{good}"))
            {
                let translation = one(
                    annotation.name,
                    &value,
                    &json!({"annotations-risk-level": "Critical"}),
                    None,
                );
                let mut wrong = Vec::new();
                collect(&config(&translation), &mut wrong);
                assert!(
                    wrong.is_empty(),
                    "{}: {value:?} became {wrong:?}",
                    annotation.name
                );
            }
        }
    }
}

/// Strings with control characters, but for those of files.
fn collect(value: &Value, wrong: &mut Vec<String>) {
    match value {
        Value::String(text)
            if text.chars().any(char::is_control) && !text.starts_with("-----BEGIN") =>
        {
            wrong.push(text.clone());
        }
        Value::Array(all) => all.iter().for_each(|value| collect(value, wrong)),
        Value::Object(all) => all.values().for_each(|value| collect(value, wrong)),
        _ => {}
    }
}
