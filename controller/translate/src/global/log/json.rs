//! A format that is an object of JSON, with variables in its texts or, for numbers, without quotes around them.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_ir::LogValue;
use sluice_syntax::Parsed;
use sluice_syntax::variables::variable_name;

use super::{Lookup, Names, parts};

pub(super) fn parse(text: &str, lookup: Lookup) -> Parsed<(BTreeMap<String, LogValue>, Names)> {
    const EXPECTED: &str = "an object of JSON, of texts, numbers and objects";
    let Ok(Value::Object(object)) = serde_json::from_str(&quoted(text)) else {
        return Err(EXPECTED.into());
    };
    let mut names = Names::new();
    let object = object
        .iter()
        .map(|(key, value)| Some((key.clone(), read(value, lookup, &mut names)?)));
    let object: Option<_> = object.collect();
    object
        .map(|object| (object, names))
        .ok_or_else(|| EXPECTED.into())
}

fn read(value: &Value, lookup: Lookup, names: &mut Names) -> Option<LogValue> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Object(object) => {
            let object = object
                .iter()
                .map(|(key, value)| Some((key.clone(), read(value, lookup, names)?)));
            return object.collect::<Option<_>>().map(LogValue::Object);
        }
        Value::Null | Value::Array(_) => return None,
    };
    let (line, found) = parts(&text, lookup);
    names.extend(found);
    Some(LogValue::Line(line))
}

/// With quotes around the variables that have none, so that it is JSON.
fn quoted(text: &str) -> String {
    let (mut json, mut inside, mut escaped) = (String::new(), false, false);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let behind = &rest[letter.len_utf8()..];
        if letter == '$'
            && !inside
            && let Some((name, after)) = variable_name(behind)
        {
            json.push_str(&format!("\"${{{name}}}\""));
            rest = after;
            continue;
        }
        inside ^= letter == '"' && !escaped;
        escaped = inside && letter == '\\' && !escaped;
        json.push(letter);
        rest = behind;
    }
    json
}

#[cfg(test)]
mod tests {
    use super::super::variables::request_field;
    use super::*;

    #[test]
    fn numbers_are_written_without_quotes() {
        assert_eq!(
            quoted(r#"{"a": $status, "b\"$c": "$d"}"#),
            r#"{"a": "${status}", "b\"$c": "$d"}"#
        );
        let (object, names) = parse(
            r#"{"s": $status, "in": {"x": "$nothing"}, "v": 1}"#,
            request_field,
        )
        .unwrap();
        assert_eq!(object.keys().collect::<Vec<_>>(), ["in", "s", "v"]);
        assert_eq!(names.keys().collect::<Vec<_>>(), ["nothing"]);
    }

    #[test]
    fn what_is_no_object_is_not_taken() {
        for bad in ["$remote_addr", "[1]", "{\"a\": [1]}", "{\"a\": }"] {
            assert!(parse(bad, request_field).is_err(), "{bad}");
        }
    }
}
