//! `sluice values`: values of Sluice's chart for those of ingress-nginx's.
//!
//! ```text
//!   theirs (YAML) --table, flags--> ours (YAML) + comments: without counterpart, unknown, to be looked at
//! ```

mod flags;
mod helm;
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
use flags::Fate;
use table::{Rule, is_above, rule};

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
            conversion.avoid_own_ports();
        }
        // An empty file.
        Value::Null => {}
        other => bail!(
            "expected a map of values, got {}",
            excerpt(&other.to_string())
        ),
    }
    Ok(conversion.text())
}

/// Values of ours, and remarks.
#[derive(Debug, Default)]
struct Conversion {
    ours: Map<String, Value>,
    without_counterpart: Vec<(String, String)>,
    unknown: Vec<(String, String)>,
    look_at: Vec<(String, String)>,
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

    fn apply(&mut self, rule: &Rule, path: &str, value: &Value) {
        // Empty is not set, in both charts.
        if is_empty(value) {
            return;
        }
        match rule {
            Rule::Copy(places) => places.iter().for_each(|ours| self.set(ours, path, value)),
            Rule::LookAt(places, note) => {
                places.iter().for_each(|ours| self.set(ours, path, value));
                if *value != false {
                    let ours = places.join(", ");
                    self.look_at.push((ours, (*note).to_owned()));
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
            // Off there is off here.
            Rule::None(_) if *value == false => {}
            Rule::On(_) if *value == true => {}
            Rule::None(reason) | Rule::On(reason) => {
                let reason = (*reason).to_owned();
                self.without_counterpart.push((path.to_owned(), reason));
            }
        }
    }

    fn flags(&mut self, value: &Value) {
        for (flag, value) in value.as_object().into_iter().flatten() {
            let path = format!("controller.extraArgs.{flag}");
            match flags::fate(flag) {
                Fate::Value(rule) => self.apply(rule, &path, value),
                // Helm would write a number of its own way.
                Fate::Kept => self.set(&path, &path, &Value::String(text_of(value))),
                Fate::Gone(reason) => self.without_counterpart.push((path, reason)),
            }
        }
    }

    /// Ports of TCP and UDP Services that the data plane of the chart has for itself: it moves.
    fn avoid_own_ports(&mut self) {
        for (own, moved, name) in [(8080, 18080, "http"), (8443, 18443, "https")] {
            let port = own.to_string();
            let is_taken = self
                .ours
                .get("tcp")
                .is_some_and(|tcp| !tcp[&port].is_null());
            if is_taken {
                let place = format!("dataPlane.containerPort.{name}");
                self.set(&place, "tcp", &Value::from(moved));
                let note =
                    format!("{own} is a port of tcp, so {name} listens on {moved} in its pod");
                self.look_at.push((place, note));
            }
        }
    }

    fn set(&mut self, ours: &str, path: &str, value: &Value) {
        if let Some(reason) = schema::mismatch(ours, value) {
            self.unknown.push((path.to_owned(), reason));
            return;
        }
        if value.to_string().contains("{{") {
            let note = format!("{path} has a template, which Sluice's chart does not render");
            self.look_at.push((ours.to_owned(), note));
        }
        let mut map = &mut self.ours;
        let mut keys = ours.split('.').peekable();
        while let Some(key) = keys.next() {
            if keys.peek().is_none() {
                match (map.get_mut(key), value) {
                    // Another value has put something there.
                    (Some(Value::Object(there)), Value::Object(fields)) => {
                        there.extend(fields.clone());
                    }
                    _ => drop(map.insert(key.to_owned(), value.clone())),
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

    fn text(&self) -> String {
        let mut text =
            "# Values of Sluice's chart, for values of ingress-nginx's: `sluice values`.\n"
                .to_owned();
        if self.ours.is_empty() {
            text.push_str("{}\n");
        } else {
            yaml::write(&self.ours, 0, &mut text);
        }
        for (title, notes) in [
            ("Without counterpart", &self.without_counterpart),
            ("Not understood, and left out", &self.unknown),
            ("To be looked at", &self.look_at),
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

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod helm_tests;
#[cfg(test)]
mod input_tests;
#[cfg(test)]
mod tests;
