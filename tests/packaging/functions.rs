//! The functions of Helm that the chart uses, and no others.

use std::collections::BTreeMap;
use std::fs;

use gotmpl::{Template, TemplateError, Value as Item, to_value};
use serde_json::{Value, json};

use crate::chart::folder;

/// Adds them all but `include`, which needs the templates.
pub(crate) fn all(engine: Template) -> Template {
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
        .func("default", |args| {
            let given = args.get(1).filter(|given| given.is_truthy());
            Ok(given.or(args.first()).cloned().unwrap_or(Item::Nil))
        })
        .func("hasKey", |args| {
            let map = args.first().map(to_json).unwrap_or_default();
            Ok(Item::Bool(map.get(text(args.get(1))).is_some()))
        })
        .func("trim", move |args| {
            string(text(args.first()).trim().to_owned())
        })
        .func("dict", |args| {
            let pairs = args
                .chunks(2)
                .map(|pair| (text(pair.first()), pair.get(1).map(to_json)));
            to_value(&pairs.collect::<BTreeMap<_, _>>())
        })
        .func("fail", |args| Err(TemplateError::Exec(text(args.first()))))
        .func("list", |args| Ok(Item::List(args.to_vec().into())))
        .func("lookup", |args| to_value(&look_up(&text(args.get(3)))))
        .func("b64enc", move |args| {
            string(format!("base64 of {}", text(args.first())))
        })
        // Their text says what they would be, the same every time.
        .func("genCA", |args| certificate(&text(args.first()), "itself"))
        .func("genSignedCert", |args| {
            let by = args.get(4).map(to_json).unwrap_or_default();
            certificate(&text(args.get(2)), by["Cert"].as_str().unwrap_or_default())
        })
}

/// As with a first install nothing is there, but for what is called so.
fn look_up(name: &str) -> Value {
    match name.starts_with("kept-") {
        true => json!({"data": {"tls.crt": format!("of {name}")}}),
        false => json!({}),
    }
}

fn certificate(of: &str, by: &str) -> gotmpl::Result<Item> {
    to_value(&json!({"Cert": format!("{of} signed by {by}"), "Key": format!("key of {of}")}))
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
