//! The chart's schema, as far as types and choices. Helm checks the rest.

use std::sync::LazyLock;

use serde_json::Value;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../deploy/helm/sluice/values.schema.json");
    serde_json::from_str(text).unwrap_or_default()
});

/// Why the chart does not take this value in this place, if so.
pub(super) fn refusal(place: &str, value: &Value) -> Option<String> {
    let mut at = &*SCHEMA;
    for key in place.split('.') {
        // Below it are the user's own keys.
        at = at["properties"].get(key)?;
    }
    refused(at, value)
}

fn refused(schema: &Value, value: &Value) -> Option<String> {
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return Some(format!(
            "expected one of {}, got {value}",
            choices.join(", ")
        ));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => true,
    };
    if !types.is_empty() && !types.iter().any(|name| is(name)) {
        return Some(format!("expected {}, got {value}", types.join(" or ")));
    }
    let items = value.as_array().into_iter().flatten();
    items
        .filter_map(|item| refused(&schema["items"], item))
        .next()
}
