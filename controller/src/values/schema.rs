//! The chart's schema, as far as types, choices and ranges. Helm checks the rest.

use std::num::NonZeroU16;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use sluice_syntax::excerpt;

/// A part of this program: that it is JSON a test has seen.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../deploy/helm/sluice/values.schema.json");
    serde_json::from_str(text).unwrap_or_default()
});

/// Keys of a map by ports.
const PORT: &str = "^[0-9]{1,5}$";

/// The reason why the chart's schema rejects a value; `None`: it does not, or has no schema for it.
pub(super) fn mismatch(path: &str, value: &Value) -> Option<String> {
    let mut at = &*SCHEMA;
    for key in path.split('.') {
        // Keys below a free-form object are the user's.
        at = at["properties"].get(key)?;
    }
    mismatch_with(at, value)
}

/// Takes out of a map of the user's what the schema rejects, with the reasons. A fraction is a text to a ConfigMap.
pub(super) fn take_mismatches(
    path: &str,
    fields: &mut Map<String, Value>,
) -> Vec<(String, String)> {
    let mut keys = path.split('.');
    let schema = keys.try_fold(&*SCHEMA, |above, key| above["properties"].get(key));
    let Some(of_field) = schema.and_then(|schema| schema.get("additionalProperties")) else {
        return Vec::new();
    };
    let mut taken = Vec::new();
    fields.retain(|key, value| {
        if value.is_f64() && mismatch_with(of_field, value).is_some() {
            *value = value.to_string().into();
        }
        let reason = of_field.is_object().then(|| mismatch_with(of_field, value));
        let reason = reason.flatten();
        let is_good = reason.is_none();
        taken.extend(reason.map(|reason| (key.clone(), reason)));
        is_good
    });
    taken
}

fn mismatch_with(schema: &Value, value: &Value) -> Option<String> {
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        let choices = choices.join(", ");
        return Some(format!(
            "expected one of {choices}, got {}",
            excerpt(&value.to_string())
        ));
    }
    if !schema["not"]["const"].is_null() && schema["not"]["const"] == *value {
        return Some(format!("expected another value than {value}"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| has_type(value, name)) {
        return Some(format!(
            "expected {}, got {}",
            types.join(" or "),
            excerpt(&value.to_string())
        ));
    }
    let mut items = value.as_array().into_iter().flatten();
    beyond(schema, value)
        .or_else(|| mismatch_of_ports(schema, value))
        .or_else(|| items.find_map(|item| mismatch_with(&schema["items"], item)))
}

/// The reason why a number is too small or too large.
fn beyond(schema: &Value, value: &Value) -> Option<String> {
    let number = value.as_f64()?;
    let (least, most) = (&schema["minimum"], &schema["maximum"]);
    let is_within = least.as_f64().is_none_or(|least| number >= least)
        && most.as_f64().is_none_or(|most| number <= most);
    let range = match (least, most) {
        _ if is_within => return None,
        (least, Value::Null) => format!("{least} or more"),
        (Value::Null, most) => format!("{most} or less"),
        (least, most) => format!("a number from {least} to {most}"),
    };
    Some(format!(
        "expected {range}, got {}",
        excerpt(&value.to_string())
    ))
}

/// The reason against a map by ports: one that is none, or its value. The pattern of the schema knows digits only.
fn mismatch_of_ports(schema: &Value, value: &Value) -> Option<String> {
    let of_port = schema["patternProperties"].get(PORT)?;
    value.as_object()?.iter().find_map(|(port, value)| {
        let service_port = value.as_str().and_then(|text| text.split(':').nth(1));
        let numbers = service_port.filter(|text| text.bytes().all(|digit| digit.is_ascii_digit()));
        let mut ports = std::iter::once(port.as_str()).chain(numbers);
        match ports.find(|port| !is_port(port)) {
            Some(wrong) => Some(format!(
                "{port}: expected a port from 1 to 65535, got {wrong:?}"
            )),
            None => mismatch_with(of_port, value).map(|reason| format!("{port}: {reason}")),
        }
    })
}

fn is_port(text: &str) -> bool {
    let number = text.parse::<NonZeroU16>();
    number.is_ok_and(|number| number.to_string() == text)
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        // Helm knows it.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_there_and_has_no_type_that_is_not_known() {
        fn visit(schema: &Value, count: &mut usize) {
            if let Some(name) = schema["type"].as_str() {
                *count += 1;
                let all = [
                    Value::Null,
                    true.into(),
                    1.into(),
                    "".into(),
                    Value::Array(vec![]),
                    Value::Object([].into_iter().collect()),
                ];
                let those: Vec<&Value> = all.iter().filter(|value| has_type(value, name)).collect();
                assert!(those.len() == 1, "{name}");
            }
            let below = schema["properties"].as_object().into_iter().flatten();
            below.for_each(|(_, schema)| visit(schema, count));
            if schema["items"].is_object() {
                visit(&schema["items"], count);
            }
        }
        let mut count = 0;
        visit(&SCHEMA, &mut count);
        assert!(count > 100, "{count}");
    }
}
