//! The chart and how it is rendered.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::functions;
use anyhow::{Context, Result, anyhow};
use gotmpl::{MissingKey, Template, Value as Item, to_value};
use serde_json::{Value, json};
use sluice_tests::artifacts::repository;

/// The release that all tests render.
pub(crate) const NAMESPACE: &str = "sluice-system";

/// The chart's folder.
pub(crate) fn folder() -> PathBuf {
    repository().join("controller/deploy/helm/sluice")
}

/// `values.yaml`.
pub(crate) fn values() -> Result<Value> {
    read_yaml(&folder().join("values.yaml"))
}

/// One YAML document.
pub(crate) fn read_yaml(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_saphyr::from_str(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// The text of each template that is not empty, by its path below `templates/`.
pub(crate) fn render(overrides: &Value) -> Result<BTreeMap<String, String>> {
    let mut values = values()?;
    merge(&mut values, overrides);
    let context = context(&values)?;
    let mut rendered = BTreeMap::new();
    for (name, engine) in engines()? {
        let text = engine
            .execute_to_string(&context)
            .with_context(|| name.clone())?;
        if !text.trim().is_empty() {
            rendered.insert(name.clone(), format!("{}\n", text.trim()));
        }
    }
    Ok(rendered)
}

/// The templates, parsed once.
fn engines() -> Result<&'static [(String, Template)]> {
    static ENGINES: OnceLock<Vec<(String, Template)>> = OnceLock::new();
    if let Some(engines) = ENGINES.get() {
        return Ok(engines);
    }
    let mut parsed = Vec::new();
    for (name, source) in templates()? {
        let engine = engine(&format!("{}\n{source}", helpers()?));
        parsed.push((name.clone(), engine.with_context(|| name)?));
    }
    Ok(ENGINES.get_or_init(|| parsed))
}

/// All objects of a rendering.
pub(crate) fn objects(overrides: &Value) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for (name, text) in render(overrides)? {
        objects.extend(documents(&text).with_context(|| name)?);
    }
    Ok(objects)
}

/// The YAML documents of a text.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>> {
    let documents = format!("\n{text}");
    let documents = documents.split("\n---").filter(|text| {
        let mut lines = text.lines();
        lines.any(|line| !line.trim().is_empty() && !line.starts_with('#'))
    });
    documents
        .map(serde_saphyr::from_str)
        .collect::<Result<Vec<Value>, _>>()
        .map_err(|error| anyhow!("{error}\n{text}"))
}

/// The notes that Helm prints after an install.
pub(crate) fn notes(overrides: &Value) -> Result<String> {
    let mut values = values()?;
    merge(&mut values, overrides);
    let source = fs::read_to_string(folder().join("templates/NOTES.txt"))?;
    Ok(engine(&format!("{}\n{source}", helpers()?))?.execute_to_string(&context(&values)?)?)
}

/// The templates that make objects. NOTES.txt is text for people.
pub(crate) fn templates() -> Result<Vec<(String, String)>> {
    let root = folder().join("templates");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                let name = path.strip_prefix(&root)?.display().to_string();
                found.push((name, fs::read_to_string(&path)?));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn helpers() -> Result<String> {
    let mut helpers = String::new();
    for entry in fs::read_dir(folder().join("templates"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tpl") {
            helpers.push_str(&fs::read_to_string(&path)?);
        }
    }
    Ok(helpers)
}

/// Helm's: maps are merged, anything else is replaced.
pub(crate) fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn context(values: &Value) -> Result<Item> {
    let chart = read_yaml(&folder().join("Chart.yaml"))?;
    let context = json!({
        "Values": values,
        "Release": {"Name": "sluice", "Namespace": NAMESPACE, "Service": "Helm", "Revision": 1},
        "Chart": {"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
    });
    Ok(to_value(&context)?)
}

/// A key that is not there is an error, where Helm goes on with nothing: a template cannot name a value that
/// `values.yaml` does not have.
fn engine(source: &str) -> Result<Template> {
    let included: Arc<OnceLock<Template>> = Arc::default();
    let templates = Arc::clone(&included);
    // `.Files.Get` is a method, which only Go has.
    let source = source.replace("$.Files.Get", "readFile");
    let source = source.replace(".Files.Get", "readFile");
    let engine = functions::all(Template::new("chart").missing_key(MissingKey::Error))
        .func("include", move |args| match (args, templates.get()) {
            ([Item::String(name), data], Some(templates)) => templates
                .execute_template_to_string(name, data)
                .map(|text| Item::String(text.into())),
            _ => Ok(Item::Nil),
        })
        .parse(&source)?;
    included
        .set(engine.clone())
        .map_err(|_| anyhow!("the engine was set twice"))?;
    Ok(engine)
}
