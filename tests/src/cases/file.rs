//! A file of cases: which form it has, and its cases one by one, so that one that cannot be read costs only itself.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The subject of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Kubernetes objects and requests.
    Ingress,
    /// Endpoints and decisions of a balancer.
    Balancer,
}

/// A file of cases.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// Its form.
    pub form: Form,
    /// Values that all cases share; `null` in most files.
    pub meta: Value,
    /// The cases, as they are written.
    pub cases: Vec<Value>,
}

impl CaseFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<CaseFile> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        CaseFile::parse(&text).with_context(|| path.display().to_string())
    }

    /// Reads a text: an object with `cases`, or the list of cases itself.
    pub fn parse(text: &str) -> Result<CaseFile> {
        let mut file: Value = serde_json::from_str(text).context("expected JSON")?;
        let cases = if file.is_array() {
            file.take()
        } else {
            file["cases"].take()
        };
        let Value::Array(cases) = cases else {
            bail!("expected a list of cases under `cases`")
        };
        let meta = file.get("meta").cloned().unwrap_or_default();
        Ok(CaseFile {
            form: form(&cases)?,
            meta,
            cases,
        })
    }
}

/// A case with `checks` is of the ingress form; one that has `when` and `then` itself is about a balancer.
fn form(cases: &[Value]) -> Result<Form> {
    let has = |word: &str| cases.iter().any(|case| case.get(word).is_some());
    match (has("checks"), has("then")) {
        (true, false) => Ok(Form::Ingress),
        (false, true) => Ok(Form::Balancer),
        _ => bail!("expected cases that all have `checks` (ingress) or all have `then` (balancer)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_shows_in_the_cases() {
        let ingress = CaseFile::parse(r#"{"cases": [{"id": "a", "checks": []}]}"#).unwrap();
        assert_eq!((ingress.form, ingress.cases.len()), (Form::Ingress, 1));
        let balancer =
            CaseFile::parse(r#"{"meta": {"x": 1}, "cases": [{"when": "", "then": {}}]}"#).unwrap();
        assert_eq!(
            (balancer.form, &balancer.meta["x"]),
            (Form::Balancer, &1.into())
        );
        assert!(CaseFile::parse(r#"{"cases": {}}"#).is_err());
        assert!(CaseFile::parse(r#"{"cases": [{"id": "a"}]}"#).is_err());
    }
}
