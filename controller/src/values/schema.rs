//! The chart's schema, as far as types and choices. Helm checks the rest.

use std::sync::LazyLock;

use serde_json::Value;

/// A part of this program: that it is JSON a test has seen.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../deploy/helm/sluice/values.schema.json");
    serde_json::from_str(text).unwrap_or_default()
});

/// The reason why the chart's schema rejects a value; `None`: it does not, or has no schema for it.
pub(super) fn mismatch(path: &str, value: &Value) -> Option<String> {
    let mut at = &*SCHEMA;
    for key in path.split('.') {
        // Keys below a free-form object are the user's.
        at = at["properties"].get(key)?;
    }
    mismatch_with(at, value)
}

fn mismatch_with(schema: &Value, value: &Value) -> Option<String> {
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        let choices = choices.join(", ");
        return Some(format!("expected one of {choices}, got {value}"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| has_type(value, name)) {
        return Some(format!("expected {}, got {value}", types.join(" or ")));
    }
    let mut items = value.as_array().into_iter().flatten();
    items.find_map(|item| mismatch_with(&schema["items"], item))
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
