//! One value of theirs becomes values of ours.

use serde_json::{Map, Value};
use sluice_syntax::excerpt;

use super::defaults::{default_of, is_default};
use super::flags::{self, Fate};
use super::table::Rule;
use super::{Conversion, helm, is_empty, schema, text_of};

impl Conversion {
    pub(super) fn apply(&mut self, rule: &Rule, path: &str, value: &Value) {
        // Empty is not set, in both charts.
        if is_empty(value) {
            return;
        }
        match rule {
            Rule::Copy(places) => places.iter().for_each(|ours| self.set(ours, path, value)),
            Rule::Changed(_) | Rule::Text(_) if is_default(path, value) => {}
            Rule::Changed(places) => places.iter().for_each(|ours| self.set(ours, path, value)),
            Rule::LookAt(places, note) => {
                places.iter().for_each(|ours| self.set(ours, path, value));
                if *value != false {
                    self.look_at(&places.join(", "), *note);
                }
            }
            Rule::Number(ours) => match number(value) {
                Some(number) => self.set(ours, path, &number),
                None => {
                    let reason = format!("expected a number, got {}", excerpt(&value.to_string()));
                    self.unknown.push((path.to_owned(), reason));
                }
            },
            Rule::Text(ours) => self.set(ours, path, &Value::String(text_of(value))),
            Rule::Switch(ours) => self.set(ours, path, &Value::Bool(is_true(value))),
            Rule::Choice(ours, choice) if is_true(value) => self.set(ours, path, &(*choice).into()),
            Rule::Choice(..) => {}
            Rule::Namespace => {
                self.set("controller.scope.enabled", path, &true.into());
                self.set("controller.scope.namespace", path, value);
            }
            Rule::Flags => self.flags(value),
            // All its parts are looked at together.
            Rule::ImageName => {}
            Rule::None(_) | Rule::On(_) if is_default(path, value) => {}
            // Off there is off here.
            Rule::None(_) if *value == false && default_of(path).is_none() => {}
            Rule::None(reason) | Rule::On(reason) => {
                let reason = (*reason).to_owned();
                self.without_counterpart.push((path.to_owned(), reason));
            }
        }
    }

    fn flags(&mut self, value: &Value) {
        let Value::Object(flags) = value else {
            let reason = format!(
                "expected a map of flags, got {}",
                excerpt(&value.to_string())
            );
            self.unknown
                .push(("controller.extraArgs".to_owned(), reason));
            return;
        };
        for (flag, value) in flags {
            let path = format!("controller.extraArgs.{flag}");
            match flags::fate(flag) {
                // With null, Helm takes a key out.
                _ if value.is_null() => {}
                _ if value.is_array() || value.is_object() => {
                    let value = value.to_string();
                    let reason = format!(
                        "expected a text, a number or a switch, got {}",
                        excerpt(&value)
                    );
                    self.unknown.push((path, reason));
                }
                Fate::Value(rule) => self.apply(rule, &path, &flags::value_of(rule, value)),
                // Helm would write a number of its own way. Without a text, it is a flag without a value.
                Fate::Kept => self.set(&path, &path, &Value::String(text_of(value))),
                Fate::Gone(reason) => self.without_counterpart.push((path, reason)),
            }
        }
    }

    pub(super) fn set(&mut self, ours: &str, path: &str, value: &Value) {
        if let Some(reason) = schema::mismatch(ours, value) {
            self.unknown.push((path.to_owned(), reason));
            return;
        }
        let mut value = without_nulls(value);
        if let Value::Object(fields) = &mut value {
            for (key, reason) in schema::take_mismatches(ours, fields) {
                self.unknown.push((format!("{path}.{key}"), reason));
            }
            if fields.is_empty() {
                return;
            }
        }
        if value.to_string().contains("{{") {
            let note = format!("{path} has a template, which Sluice's chart does not render");
            self.look_at(ours, note);
        }
        self.put(ours, value);
    }

    fn put(&mut self, ours: &str, value: Value) {
        let mut map = &mut self.ours;
        let mut keys = ours.split('.').peekable();
        while let Some(key) = keys.next() {
            if keys.peek().is_none() {
                match (map.get_mut(key), value) {
                    // Another value has put something there.
                    (Some(Value::Object(there)), Value::Object(fields)) => there.extend(fields),
                    (_, value) => drop(map.insert(key.to_owned(), value)),
                }
                return;
            }
            let below = map
                .entry(key)
                .or_insert_with(|| Value::Object(Map::default()));
            let Value::Object(below) = below else { return };
            map = below;
        }
    }

    /// Takes a value of ours out, and the maps that nothing else is in.
    pub(super) fn remove(&mut self, ours: &str) {
        remove_below(&mut self.ours, ours);
    }

    pub(super) fn look_at(&mut self, ours: &str, note: impl Into<String>) {
        self.to_look_at.push((ours.to_owned(), note.into()));
    }
}

fn remove_below(map: &mut Map<String, Value>, path: &str) {
    let Some((key, below)) = path.split_once('.') else {
        map.remove(path);
        return;
    };
    if let Some(Value::Object(fields)) = map.get_mut(key) {
        remove_below(fields, below);
        if fields.is_empty() {
            map.remove(key);
        }
    }
}

/// With null, Helm takes a key out of the chart's values, where it is not among ours; to an API server it is the same as none.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(key, value)| (key.clone(), without_nulls(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// A number, also where it is written as text, and below a map of ports.
fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        // It stands in a manifest without quotes.
        Value::String(text) => Some(helm::scalar(text.trim())).filter(Value::is_number),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| Some((key.clone(), number(value)?)));
            fields.collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        _ => None,
    }
}

/// Switches of flags are texts.
fn is_true(value: &Value) -> bool {
    *value == true || *value == "true"
}
