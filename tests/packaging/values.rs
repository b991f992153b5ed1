//! Values: each one is described, checked by Helm, and changes something.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use crate::cases::cases;
use crate::chart::{folder, merge, read_yaml, render, values};

pub(crate) fn schema() -> Result<Value> {
    read_yaml(&folder().join("values.schema.json"))
}

/// Every value by its path, down to what is a scalar, a list or has keys of the user's own: in the schema it has none.
fn collect_leaves(value: &Value, path: &str, schema: &Value, found: &mut BTreeMap<String, Value>) {
    let is_free = |schema: &Value| schema["type"] == "object" && schema["properties"].is_null();
    match value.as_object().filter(|_| !is_free(schema)) {
        Some(fields) => fields.iter().for_each(|(key, value)| {
            let schema = &schema["properties"][key.as_str()];
            collect_leaves(value, &format!("{path}/{key}"), schema, found);
        }),
        None => drop(found.insert(path.to_owned(), value.clone())),
    }
}

/// All of `values.yaml`.
pub(crate) fn all_leaves() -> Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    collect_leaves(&values()?, "", &schema()?, &mut found);
    Ok(found)
}

/// The schema of a value, by the same path.
pub(crate) fn property<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/')
        .skip(1)
        .try_fold(schema, |schema, key| schema["properties"].get(key))
}

#[test]
fn every_value_has_a_schema_entry_with_description_and_type() -> Result<()> {
    let schema = schema()?;
    for (path, value) in all_leaves()? {
        let property =
            property(&schema, &path).with_context(|| format!("{path} is not in the schema"))?;
        let description = property["description"].as_str().unwrap_or_default();
        ensure!(
            description.len() > 10 && description.ends_with('.'),
            "{path}: described as {description:?}"
        );
        let kind = match &value {
            Value::Bool(_) => "boolean",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            _ => "object",
        };
        let kinds = property["type"].as_array();
        ensure!(
            kinds.map_or(property["type"] == kind, |kinds| kinds
                .contains(&json!(kind))),
            "{path}: expected the type {kind}, got {}",
            property["type"]
        );
        let allowed = property["enum"].as_array();
        ensure!(
            allowed.is_none_or(|allowed| allowed.contains(&value)),
            "{path}: {value} is not allowed"
        );
    }
    Ok(())
}

#[test]
fn schema_rejects_unknown_values() -> Result<()> {
    fn visit(schema: &Value, path: &str, known: &BTreeMap<String, Value>) -> Result<()> {
        if let Some(properties) = schema["properties"].as_object() {
            ensure!(
                schema["additionalProperties"] == false,
                "{path}: lets misspelt values pass"
            );
            for (key, schema) in properties {
                visit(schema, &format!("{path}/{key}"), known)?;
            }
        } else {
            // `global` belongs to Helm: a chart that has this one as a part passes it. Those of ingress-nginx are refused, with a text.
            ensure!(
                known.contains_key(path) || path == "/global" || schema["deprecated"] == true,
                "{path} is not in values.yaml"
            );
        }
        Ok(())
    }
    visit(&schema()?, "", &all_leaves()?)
}

/// Another value of the same type; for a list or a map of the user's, one with something in it.
fn other_value(path: &str, value: &Value, schema: &Value) -> Value {
    let allowed = property(schema, path).and_then(|property| property["enum"].as_array());
    let has_ports = |property: &Value| property["patternProperties"].is_object();
    if property(schema, path).is_some_and(has_ports) {
        return json!({"9000": 31000});
    }
    match (allowed, value) {
        (Some(allowed), _) => allowed
            .iter()
            .find(|other| *other != value)
            .cloned()
            .unwrap_or_default(),
        (None, Value::Bool(value)) => json!(!value),
        (None, Value::Number(value)) => json!(value.as_i64().unwrap_or_default() + 1),
        (None, Value::String(value)) => json!(format!("x{value}")),
        (None, Value::Array(_)) => json!([{"other": "x"}]),
        (None, _) => json!({"other": "x"}),
    }
}

/// `{"a": {"b": value}}` for `/a/b`.
fn nested(path: &str, value: Value) -> Value {
    path.rsplit('/')
        .filter(|key| !key.is_empty())
        .fold(value, |value, key| {
            Value::Object(Map::from_iter([(key.to_owned(), value)]))
        })
}

fn merged(mut into: Value, from: &Value) -> Value {
    merge(&mut into, from);
    into
}

#[test]
fn every_value_changes_the_rendering() -> Result<()> {
    let schema = schema()?;
    let before = |(_, case)| anyhow::Ok((render(&case)?, case));
    let cases: Vec<_> = cases().into_iter().map(before).collect::<Result<_>>()?;
    for (path, value) in all_leaves()? {
        // A switch is on in some cases and off in others.
        let switched = value.is_boolean().then(|| value.clone());
        let changes = [other_value(&path, &value, &schema)];
        let changes = changes.into_iter().chain(switched);
        let changes: Vec<Value> = changes.map(|value| nested(&path, value)).collect();
        // What the chart refuses in one case is tried in the next.
        let differs = |before: &BTreeMap<String, String>, case: &Value, change: &Value| {
            render(&merged(case.clone(), change)).is_ok_and(|after| after != *before)
        };
        let differs = cases
            .iter()
            .any(|(before, case)| changes.iter().any(|change| differs(before, case, change)));
        ensure!(differs, "{path} changes nothing: remove it or use it");
    }
    Ok(())
}

/// The defaults with another value in one place.
pub(crate) fn changed(path: &str, value: &Value) -> Result<Value> {
    Ok(nested(path, other_value(path, value, &schema()?)))
}
