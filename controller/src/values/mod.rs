//! `sluice values`: values of Sluice's chart for those of ingress-nginx's.
//!
//! ```text
//!   theirs (YAML) --table, flags--> ours --checks, defaults, exclusive--> ours (YAML)
//!                        \--------> comments: defaults, without counterpart, unknown, to be looked at <--/
//! ```

mod apply;
mod checks;
mod defaults;
mod exclusive;
mod flags;
mod helm;
mod image;
mod schema;
mod table;
mod yaml;

use std::fmt::Write as _;
use std::io::Read;
use std::{fs, io};

use anyhow::{Context, bail};
use serde_json::{Map, Value};
use sluice_syntax::{excerpt, printable};

use crate::args::Values;
use crate::output;
use table::{is_above, rule};

/// More bytes than a chart's values ever have.
const LARGEST: u64 = 4 << 20;

/// Reads theirs, prints ours.
pub(crate) fn values(args: &Values) -> anyhow::Result<()> {
    let (bytes, size) = match &args.path {
        Some(path) => {
            let opened = fs::File::open(path);
            let file = opened.with_context(|| path.display().to_string())?;
            let size = file.metadata().ok().map(|about| about.len());
            (read(file)?, size)
        }
        None => (read(io::stdin().lock())?, None),
    };
    let text = text_within_limit(bytes, size)?;
    Ok(output::print(&converted(&text)?)?)
}

/// All of it, or one byte more than is taken.
fn read(from: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .context("cannot read the values")?;
    Ok(bytes)
}

/// `size`: of the file, where it is known.
fn text_within_limit(bytes: Vec<u8>, size: Option<u64>) -> anyhow::Result<String> {
    let read = u64::try_from(bytes.len())?;
    if read <= LARGEST {
        return String::from_utf8(bytes).context("the values are not UTF-8");
    }
    let size = match size.filter(|size| *size >= read) {
        Some(size) => size.to_string(),
        None => format!("{read} or more"),
    };
    bail!("expected at most {LARGEST} bytes (4 MiB) of values, got {size}")
}

/// The whole output for the text of a values file.
fn converted(text: &str) -> anyhow::Result<String> {
    let mut conversion = Conversion::default();
    match helm::read(text)? {
        Value::Object(theirs) => {
            let theirs = below_dependency(&theirs).unwrap_or(&theirs);
            conversion.map(theirs, "");
            conversion.compose_image(theirs);
        }
        // An empty file.
        Value::Null => {}
        other => bail!(
            "expected a map of values, got {}",
            excerpt(&other.to_string())
        ),
    }
    conversion.check_together();
    conversion.keep_their_defaults();
    conversion.name_what_is_taken();
    Ok(conversion.text())
}

/// Values of ours, and remarks.
#[derive(Debug, Default)]
struct Conversion {
    ours: Map<String, Value>,
    without_counterpart: Vec<(String, String)>,
    unknown: Vec<(String, String)>,
    to_look_at: Vec<(String, String)>,
    /// Places where ingress-nginx's default is set, with Sluice's own.
    defaults_set: Vec<(&'static str, &'static str)>,
}

impl Conversion {
    fn map(&mut self, values: &Map<String, Value>, above: &str) {
        for (key, value) in values {
            let path = match above {
                "" => key.clone(),
                above => format!("{above}.{key}"),
            };
            // Such a key would look like a path.
            let found = rule(&path).filter(|_| !key.contains('.'));
            match (found, value) {
                (Some(rule), value) => self.apply(rule, &path, value),
                (None, Value::Object(values)) if is_above(&path) && !key.contains('.') => {
                    self.map(values, &path);
                }
                (None, Value::Null) if is_above(&path) => {}
                (None, value) if is_above(&path) => {
                    let reason = format!("expected a map, got {}", excerpt(&value.to_string()));
                    self.unknown.push((path, reason));
                }
                (None, _) => {
                    let reason = "ingress-nginx's chart 4.15 has no such value".to_owned();
                    self.unknown.push((path, reason));
                }
            }
        }
    }

    /// Says once which defaults of Sluice's chart are others.
    fn write_defaults(&self, text: &mut String) {
        let set = self.defaults_set.iter();
        let set: Vec<String> = set
            .map(|(place, ours)| format!("{place} ({ours})"))
            .collect();
        let kept = self.defaults_kept().into_iter();
        let kept: Vec<String> = kept
            .map(|(place, ours, theirs)| format!("{place} {ours} (not {theirs})"))
            .collect();
        text.push_str(&line_of(
            "Set to ingress-nginx's defaults, since Sluice's (in brackets) would change what clients get",
            &set,
        ));
        text.push_str(&line_of(
            "Left to Sluice's defaults, which are not ingress-nginx's",
            &kept,
        ));
    }

    fn text(&self) -> String {
        let mut text =
            "# Values of Sluice's chart, for values of ingress-nginx's: `sluice values`.\n"
                .to_owned();
        self.write_defaults(&mut text);
        if self.ours.is_empty() {
            text.push_str("{}\n");
        } else {
            yaml::write(&self.ours, 0, &mut text);
        }
        for (title, notes) in [
            ("Without counterpart", &self.without_counterpart),
            ("Not understood, and left out", &self.unknown),
            ("To be looked at", &self.to_look_at),
        ] {
            if notes.is_empty() {
                continue;
            }
            write!(text, "\n# {title}:\n").ok();
            for (path, note) in notes {
                writeln!(text, "#   {}: {}", printable(path), printable(note)).ok();
            }
        }
        text
    }
}

/// A list of defaults behind a title.
fn line_of(title: &str, defaults: &[String]) -> String {
    match defaults {
        [] => String::new(),
        defaults => format!("# {title}: {}.\n", defaults.join(", ")),
    }
}

/// The values of a chart that has ingress-nginx as a dependency.
fn below_dependency(theirs: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let is_theirs = |key: &String| rule(key).is_some() || is_above(key);
    if theirs.keys().any(is_theirs) {
        return None;
    }
    theirs.get("ingress-nginx")?.as_object()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod defaults_tests;
#[cfg(test)]
mod helm_tests;
#[cfg(test)]
mod input_tests;
#[cfg(test)]
mod migration_tests;
#[cfg(test)]
mod tests;
