//! Expected log lines. The wording is the original's, so only the level is compared, and that the line names what the
//! original's line names of the case.

use serde::Deserialize;
use serde_json::Value;

use super::case::Cannot;

/// `{level, contains}` or `{level, equals}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    level: String,
    #[serde(alias = "equals")]
    contains: String,
}

impl Line {
    /// A finding when none of these lines (`Level text`) is it.
    pub(super) fn missing(
        &self,
        lines: &[String],
        given: &Value,
    ) -> Result<Option<String>, Cannot> {
        let level = match self.level.as_str() {
            "warn" => "Warn",
            "info" => "Info",
            "error" => "Error",
            other => return Err(Cannot(format!("then.log.level: unknown level {other:?}"))),
        };
        let names = self.names(given);
        let fits = |line: &&String| {
            let is_level = line
                .strip_prefix(level)
                .is_some_and(|rest| rest.starts_with(' '));
            is_level && names.iter().all(|name| line.contains(name))
        };
        let found = lines.iter().any(|line| fits(&line));
        Ok((!found).then(|| {
            format!("log: expected a line of level {level} that names {names:?}, got {lines:?}")
        }))
    }

    /// The words of the line that are values of the case.
    pub(super) fn names(&self, given: &Value) -> Vec<String> {
        let mut values = Vec::new();
        texts(given, &mut values);
        let words = self.contains.split([' ', ',']).map(str::to_owned);
        words.filter(|word| values.contains(word)).collect()
    }
}

fn texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| texts(value, out)),
        Value::Object(map) => map.values().for_each(|value| texts(value, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_of_the_level_must_name_what_the_case_names() {
        let given =
            json!({ "sequence": [{ "load-balance": "round_robin" }, { "load-balance": "ewma" }] });
        let line: Line = serde_json::from_value(
            json!({ "level": "info", "equals": "from round_robin to ewma" }),
        )
        .unwrap();
        let missing = |text: &str| line.missing(&[text.to_owned()], &given).unwrap().is_some();
        assert!(!missing("Info round_robin is now ewma"));
        assert!(missing("Warn round_robin is now ewma") && missing("Info it is now ewma"));
        assert!(line.missing(&[], &given).unwrap().is_some());
    }
}
