//! The functions of Helm that the chart uses, and no others.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use gotmpl::{Template, TemplateError, Value as Item};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::chart::folder;

/// Adds them all but `include`, which needs the templates.
pub(crate) fn all(engine: Template) -> Template {
    maps(values(texts(engine)))
}

fn texts(engine: Template) -> Template {
    let string = |text: String| Ok(Item::String(text.into()));
    engine
        .func("readFile", move |args| {
            string(read_file(&text(args.first())))
        })
        .func("toYaml", move |args| string(to_yaml(args.first())))
        .func("nindent", move |args| string(nindent(args)))
        .func("quote", move |args| {
            string(format!("{:?}", text(args.first())))
        })
        .func("trim", move |args| {
            string(text(args.first()).trim().to_owned())
        })
        .func("replace", move |args| {
            string(text(args.get(2)).replace(&text(args.first()), &text(args.get(1))))
        })
        .func("sha256sum", move |args| {
            let hash = Sha256::digest(text(args.first()));
            string(hash.iter().map(|byte| format!("{byte:02x}")).collect())
        })
        .func("toJson", move |args| {
            string(args.first().map(to_json).unwrap_or_default().to_string())
        })
        .func("toString", move |args| string(text(args.first())))
        .func("trunc", move |args| {
            let length = args.first().and_then(Item::as_int).unwrap_or_default();
            let length = usize::try_from(length).unwrap_or_default();
            string(text(args.get(1)).chars().take(length).collect())
        })
}

fn values(engine: Template) -> Template {
    engine
        .func("default", |args| {
            let given = args.get(1).filter(|given| given.is_truthy());
            Ok(given.or(args.first()).cloned().unwrap_or(Item::Nil))
        })
        .func("hasKey", |args| {
            let map = args.first().map(to_json).unwrap_or_default();
            Ok(Item::Bool(map.get(text(args.get(1))).is_some()))
        })
        .func("dict", |args| {
            let pairs = args.chunks(2);
            let pairs =
                pairs.filter_map(|pair| Some((text(pair.first()).into(), pair.get(1)?.clone())));
            Ok(Item::Map(Arc::new(pairs.collect())))
        })
        .func("fail", |args| Err(TemplateError::Exec(text(args.first()))))
        .func("list", |args| Ok(Item::List(args.to_vec().into())))
        .func("concat", |args| {
            Ok(Item::List(args.iter().flat_map(entries).collect()))
        })
        .func("contains", |args| {
            Ok(Item::Bool(text(args.get(1)).contains(&text(args.first()))))
        })
        .func("hasPrefix", |args| {
            let prefix = text(args.first());
            Ok(Item::Bool(text(args.get(1)).starts_with(&prefix)))
        })
        .func("int", |args| Ok(Item::Int(number(args.first()))))
        .func("add", |args| {
            let numbers = args.iter().map(|item| number(Some(item)));
            Ok(Item::Int(numbers.sum()))
        })
        .func("ternary", |args| {
            let chosen = if args.get(2).is_some_and(Item::is_truthy) {
                0
            } else {
                1
            };
            Ok(args.get(chosen).cloned().unwrap_or(Item::Nil))
        })
}

fn maps(engine: Template) -> Template {
    engine
        .func("get", |args| {
            let found = fields(args.first()).remove(text(args.get(1)).as_str());
            Ok(found.unwrap_or_else(|| Item::String("".into())))
        })
        .func("set", |args| {
            let mut map = fields(args.first());
            map.insert(
                text(args.get(1)).into(),
                args.get(2).cloned().unwrap_or(Item::Nil),
            );
            Ok(Item::Map(Arc::new(map)))
        })
        .func("has", |args| {
            let needle = args.first().map(to_json);
            let list = args.get(1).map(entries).unwrap_or_default();
            Ok(Item::Bool(
                list.iter().any(|item| Some(to_json(item)) == needle),
            ))
        })
        .func("kindIs", |args| {
            let kind = match args.get(1) {
                Some(Item::String(_)) => "string",
                Some(Item::Nil) | None => "invalid",
                _ => "another",
            };
            Ok(Item::Bool(text(args.first()) == kind))
        })
}

/// Of a map; of anything else none.
fn fields(map: Option<&Item>) -> BTreeMap<Arc<str>, Item> {
    match map {
        Some(Item::Map(fields)) => fields.as_ref().clone(),
        _ => BTreeMap::new(),
    }
}

fn number(item: Option<&Item>) -> i64 {
    text(item).parse().unwrap_or_default()
}

fn entries(list: &Item) -> Vec<Item> {
    match list {
        Item::List(items) => items.to_vec(),
        _ => vec![],
    }
}

fn text(item: Option<&Item>) -> String {
    item.map(ToString::to_string).unwrap_or_default()
}

fn read_file(path: &str) -> String {
    fs::read_to_string(folder().join(path)).unwrap_or_default()
}

fn nindent(args: &[Item]) -> String {
    let width = args
        .first()
        .and_then(Item::as_int)
        .and_then(|width| usize::try_from(width).ok());
    let indent = " ".repeat(width.unwrap_or_default());
    let text = text(args.get(1));
    format!("\n{indent}{}", text.replace('\n', &format!("\n{indent}")))
}

fn to_yaml(item: Option<&Item>) -> String {
    let yaml = serde_saphyr::to_string(&item.map_or(Value::Null, to_json)).unwrap_or_default();
    yaml.trim_end().to_owned()
}

fn to_json(item: &Item) -> Value {
    match item {
        Item::Bool(value) => json!(value),
        Item::Int(value) => json!(value),
        Item::Uint(value) => json!(value),
        Item::Float(value) => json!(value),
        Item::String(value) => json!(value.as_ref()),
        Item::List(values) => values.iter().map(to_json).collect(),
        Item::Map(values) => values
            .iter()
            .map(|(key, value)| (key.to_string(), to_json(value)))
            .collect(),
        _ => Value::Null,
    }
}
