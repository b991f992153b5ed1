//! Access reviews: everything is allowed, but for what a test denies.

use std::collections::BTreeSet;

use serde_json::{Value, json};

const PATHS: [&str; 2] = [
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
];

/// The review with its answer; `None` for another path. Denied are rights in the form `verb resource`.
pub(super) fn answer(path: &str, body: &[u8], denied: &BTreeSet<String>) -> Option<Value> {
    if !PATHS.contains(&path) {
        return None;
    }
    let mut review: Value = serde_json::from_slice(body).ok()?;
    let attributes = &review["spec"]["resourceAttributes"];
    let word = |name: &str| attributes[name].as_str().unwrap_or_default();
    let right = format!("{} {}", word("verb"), word("resource"));
    review["status"] = json!({ "allowed": !denied.contains(&right) });
    Some(review)
}
