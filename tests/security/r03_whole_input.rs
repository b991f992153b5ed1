//! R3: a parser reads its whole input. A value with anything before or behind it is none, and neither is one with a character
//! that is not of its line.

use serde_json::{Value, json};
use sluice_translate::annotations::{Annotation, Value as Takes};

use crate::translation::{
    INVALID, all, config, is_same_config, translate_annotation, translate_companions,
    unexpected_effects,
};

/// A right value of an annotation whose values are counted.
fn valid_values(takes: Takes) -> &'static [&'static str] {
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

/// Texts that only contain a valid value.
fn with_surrounding_text(valid: &str) -> Vec<String> {
    let before = ["x", "!", "\u{feff}", "\u{0}", "x ", "x\n", "\"", "=", "-."];
    let behind = [
        "!", "\u{feff}", "\u{0}", " x", "\nx", "\r\nx", "\"", ";", ";x", " ;", "$", "\\", ".x",
        "\u{200b}",
    ];
    let before = before.iter().map(|junk| format!("{junk}{valid}"));
    before
        .chain(behind.iter().map(|junk| format!("{valid}{junk}")))
        .collect()
}

fn has_effect(annotation: &Annotation, value: &str) -> bool {
    let settings = json!({"annotations-risk-level": "Critical"});
    let bad = translate_annotation(annotation.name, INVALID, &settings, None);
    let found = translate_annotation(annotation.name, value, &settings, None);
    !is_same_config(&found, &bad)
        || !is_same_config(
            &translate_companions(annotation.name, &settings, None),
            &bad,
        )
}

#[test]
fn value_with_surrounding_text_is_invalid() {
    let (mut effective, mut wrong) = (0, Vec::new());
    for (number, annotation) in all().enumerate() {
        effective += usize::from(
            valid_values(annotation.value)
                .iter()
                .any(|valid| has_effect(annotation, valid)),
        );
        let values: Vec<String> = valid_values(annotation.value)
            .iter()
            .take(2)
            .flat_map(|valid| with_surrounding_text(valid))
            .collect();
        wrong.extend(unexpected_effects(number, annotation, &values));
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
            let values =
                valid_values(annotation.value)
                    .iter()
                    .chain(&["/a", "http://a.example/", "a"]);
            // One of them: the next annotation of its kind meets the next.
            for value in values
                .skip(number % 2)
                .step_by(2)
                .map(|valid| format!("{valid}{junk}{valid}"))
            {
                let translation = translate_annotation(
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
