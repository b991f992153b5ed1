//! `balancers.json`, and proof that each of its expectations can fail.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::artifacts::repository;
use sluice_tests::cases::balancers::play;
use sluice_tests::cases::expected::Expected;
use sluice_tests::cases::file::CaseFile;
use sluice_tests::cases::{self, Outcome, Selection};

use crate::lists;

pub(crate) fn file() -> Result<CaseFile> {
    CaseFile::read(&repository().join("tests/cases/balancers.json"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_case_passes_or_is_listed_with_the_reason_why_it_does_not_apply() -> Result<()> {
    let expected = Expected {
        not_applicable: lists::not_applicable()?,
        ..Expected::default()
    };
    let summary = cases::play(&file()?, &Selection::default(), |_| {}).await?;
    let surprises = expected.surprises(&summary);
    ensure!(
        surprises.is_empty(),
        "{summary}; not as listed:\n{}",
        surprises.join("\n")
    );
    Ok(())
}

/// For readers, or in the original's words: of a log line only the level and the names in it are compared.
const FOR_READERS: &[&str] = &["formula", "contains", "equals"];

#[test]
fn an_expectation_that_is_changed_anywhere_does_not_hold() -> Result<()> {
    let cases = file()?.cases;
    let mut held = Vec::new();
    for case in &cases {
        if play(case) != Outcome::Passed {
            continue;
        }
        for wrong in wrongs(&case["then"]) {
            let mut changed = case.clone();
            changed["then"] = wrong.clone();
            if play(&changed) == Outcome::Passed {
                held.push(format!("{}: {wrong}", case["id"]));
            }
        }
    }
    ensure!(
        held.is_empty(),
        "passed, but are wrong:\n{}",
        held.join("\n")
    );
    Ok(())
}

#[test]
fn what_is_not_known_is_named() -> Result<()> {
    let cases = file()?.cases;
    let first = cases
        .iter()
        .find(|case| play(case) == Outcome::Passed)
        .context("no case passes")?;
    let words = [("area", "weather"), ("when", "the wind blows")];
    for (word, text) in words {
        let mut case = first.clone();
        case[word] = text.into();
        ensure!(
            matches!(play(&case), Outcome::NotApplicable(reason) if reason.contains(text)),
            "{word}"
        );
    }
    for part in ["given", "then"] {
        let mut case = first.clone();
        case[part]["colour"] = 1.into();
        ensure!(
            matches!(play(&case), Outcome::NotApplicable(reason) if reason.contains("colour")),
            "{part}"
        );
    }
    Ok(())
}

/// The value with each of its leaves changed, one at a time.
fn wrongs(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(map) => {
            let inner = |(key, value): (&String, &Value)| {
                let put = |wrong: Value| {
                    let mut map = map.clone();
                    map.insert(key.clone(), wrong);
                    Value::Object(map)
                };
                wrongs(value).into_iter().map(put).collect::<Vec<_>>()
            };
            map.iter()
                .filter(|(key, _)| !FOR_READERS.contains(&key.as_str()))
                .flat_map(inner)
                .collect()
        }
        Value::Array(list) if list.is_empty() => vec![Value::Array(vec!["something".into()])],
        Value::Array(list) => {
            let inner = |n: usize| {
                let put = move |wrong: Value| {
                    let mut list = list.clone();
                    list[n] = wrong;
                    Value::Array(list)
                };
                wrongs(&list[n]).into_iter().map(put)
            };
            (0..list.len()).flat_map(inner).collect()
        }
        Value::Bool(flag) => vec![Value::Bool(!flag)],
        Value::Number(number) => {
            vec![
                number
                    .as_f64()
                    .map_or(Value::Null, |number| Value::from(number * 1.01 + 1.0)),
            ]
        }
        Value::String(text) => vec![Value::String(format!("not {text}"))],
        Value::Null => vec![Value::String("something".into())],
    }
}
