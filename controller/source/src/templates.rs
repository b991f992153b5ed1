//! Manifests that a tool has yet to render: template actions, `{{ ... }}` of Helm and `{% ... %}` of Jinja.
//!
//! ```text
//!   text up to the mistake - quoted, block and one-line scalars - comments --> is an action left?
//! ```
//!
//! A value or a comment with braces in it is no template: a mistake beside it is the owner's.

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::Value;

const ACTIONS: [&str; 2] = ["{{", "{%"];

/// True if a text has a template action in it.
pub(crate) fn has_action(text: &str) -> bool {
    ACTIONS.iter().any(|action| text.contains(action))
}

/// True if a document that is no YAML may be a template: there is an action outside of values and comments, in the line of the
/// mistake (from 1) or before it.
pub(crate) fn may_be_template(document: &str, line: usize) -> bool {
    let lines = document.split_inclusive('\n').take(line);
    let end: usize = lines.map(str::len).sum();
    if !has_action(&document[..end]) {
        return false;
    }
    let mut from = 0;
    for event in Parser::new_from_str(document) {
        let Ok((Event::Scalar(_, style, ..), span)) = &event else {
            match event {
                Ok(_) => continue,
                Err(_) => break,
            }
        };
        let Some(range) = span.byte_range() else {
            break;
        };
        // A line with nothing but an action continues a plain scalar before it.
        let is_value = *style != ScalarStyle::Plain || span.start.line() == span.end.line();
        if range.start < from || range.end > end || !is_value {
            continue;
        }
        if between(document, from, range.start) {
            return true;
        }
        from = range.end;
    }
    between(document, from, end)
}

/// True if an action is outside of the comments between two scalars.
fn between(document: &str, from: usize, to: usize) -> bool {
    let text = document.get(from..to).unwrap_or_default();
    text.lines().map(without_comment).any(has_action)
}

fn without_comment(line: &str) -> &str {
    let is_start = |(at, _): &(usize, &str)| {
        line[..*at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    };
    let comment = line.match_indices('#').find(is_start);
    comment.map_or(line, |(at, _)| &line[..at])
}

/// True if a document that is no YAML may have been an object: it names a kind or a version somewhere.
pub(crate) fn may_be_object(document: &str) -> bool {
    ["kind", "apiVersion"].into_iter().any(|key| {
        document.match_indices(key).any(|(at, _)| {
            let before = document[..at].chars().next_back();
            let after = document[at + key.len()..].trim_start_matches(['"', '\'']);
            before.is_none_or(|before| !before.is_alphanumeric())
                && after.trim_start_matches([' ', '\t']).starts_with(':')
        })
    })
}

/// Fields of an object whose values have an action in them.
pub(crate) fn fields_with_action(item: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    collect(item, &mut String::new(), &mut fields);
    fields
}

fn collect(value: &Value, field: &mut String, fields: &mut Vec<String>) {
    let length = field.len();
    match value {
        Value::String(text) if has_action(text) => fields.push(field.clone()),
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                *field += &format!("[{position}]");
                collect(item, field, fields);
                field.truncate(length);
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                if !field.is_empty() {
                    field.push('.');
                }
                *field += key;
                collect(value, field, fields);
                field.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INGRESS: &str =
        "kind: Ingress\nmetadata:\n  name: a\n  annotations:\n    a: b\n   c: d\n";

    #[test]
    fn braces_in_values_and_comments_are_no_template() {
        for before in [
            "",
            "# {{ .Values.name }}\n",
            "x: y # {{ .Values.name }}\n",
            "x: \"{{ .Values.name }}\"\n",
            "x: '{{ .Values.name }}'\n",
            "x: |\n  {{ .Values.name }}\n  # {% if %}\n",
            "x: \"one\n  {{ two }}\"\n",
            "x: rate of {{ $labels.host }}\n",
        ] {
            let text = format!("{before}{INGRESS}# {{{{ .Values.late }}}}\n");
            let line = text.lines().position(|line| line == "   c: d").unwrap() + 1;
            assert!(!may_be_template(&text, line), "{text}");
            assert!(may_be_object(&text), "{text}");
        }
    }

    #[test]
    fn actions_are_a_template() {
        for before in [
            "{{- if .Values.on -}}\n",
            "{{/* a comment */}}\n",
            "{% if on %}\n",
            "x: {{ .Values.name }}\n",
            "x:\n  {{- toYaml . | nindent 2 }}\n",
            "x: y\n  {{- if .Values.on }}\n",
        ] {
            let text = format!("{before}{INGRESS}");
            assert!(may_be_template(&text, text.lines().count()), "{text}");
        }
    }

    #[test]
    fn an_action_behind_the_mistake_does_not_explain_it() {
        let text = format!("{INGRESS}x: {{{{ .Values.name }}}}\n");
        assert!(!may_be_template(&text, 6));
    }

    #[test]
    fn a_text_without_kind_and_version_is_no_object() {
        for (text, expected) in [
            ("a: [\n", false),
            ("kindness: [\n", false),
            ("of a kind\nmankind: [", false),
            ("{\"kind\": \"Ingress\", ", true),
            ("- apiVersion : v1\n", true),
            ("'kind': [", true),
        ] {
            assert_eq!(may_be_object(text), expected, "{text}");
        }
    }
}
