//! Label and field selectors, as far as the controller uses them.

use serde_json::Value;

/// A label or field selector.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Equals(String, String),
    Differs(String, String),
    Exists(String),
    Misses(String),
}

impl Selector {
    /// From the two parameters of a query.
    pub(super) fn parse(labels: Option<&str>, fields: Option<&str>) -> Self {
        Selector {
            labels: requirements(labels),
            fields: requirements(fields),
        }
    }

    /// Returns `true` if the object matches all requirements.
    pub(super) fn matches(&self, object: &Value) -> bool {
        let label = |name: &str| object.get("metadata")?.get("labels")?.get(name)?.as_str();
        // Every field exists, if only as an empty text.
        let field = |path: &str| {
            let value = path
                .split('.')
                .try_fold(object, |value, part| value.get(part));
            Some(value.and_then(Value::as_str).unwrap_or_default())
        };
        self.labels.iter().all(|wanted| wanted.holds(label))
            && self.fields.iter().all(|w| w.holds(field))
    }
}

impl Requirement {
    fn holds<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        match self {
            Requirement::Equals(name, wanted) => value(name) == Some(wanted),
            Requirement::Differs(name, unwanted) => value(name) != Some(unwanted),
            Requirement::Exists(name) => value(name).is_some(),
            Requirement::Misses(name) => value(name).is_none(),
        }
    }
}

fn requirements(text: Option<&str>) -> Vec<Requirement> {
    let parts = text
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.map(requirement).collect()
}

fn requirement(text: &str) -> Requirement {
    let pair = |operator: &str| {
        let (name, value) = text.split_once(operator)?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    if let Some((name, value)) = pair("!=") {
        Requirement::Differs(name, value)
    } else if let Some((name, value)) = pair("==").or_else(|| pair("=")) {
        Requirement::Equals(name, value)
    } else if let Some(name) = text.strip_prefix('!') {
        Requirement::Misses(name.to_owned())
    } else {
        Requirement::Exists(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fake_apiserver_selectors_look_at_labels_and_fields() {
        let object = json!({"metadata": {"name": "a", "labels": {"team": "shop", "odd": ""}}, "type": "Opaque"});
        let matches = |labels: &str, fields: &str| {
            Selector::parse(Some(labels), Some(fields)).matches(&object)
        };
        for (labels, fields) in [
            ("", ""),
            ("team=shop", ""),
            ("team,odd", "metadata.name=a"),
            ("!x,team!=x", "type!=b"),
        ] {
            assert!(matches(labels, fields), "{labels} {fields}");
        }
        for (labels, fields) in [
            ("team=x", ""),
            ("x", ""),
            ("!team", ""),
            ("", "type!=Opaque"),
            ("", "metadata.name=b"),
        ] {
            assert!(!matches(labels, fields), "{labels} {fields}");
        }
    }
}
