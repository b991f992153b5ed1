//! `AdmissionReview` of `admission.k8s.io/v1`, as far as it is needed: the API server's question and our answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_translate::Admission;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";
/// The API server cuts longer warnings, and drops those that come to more than 4096 bytes together.
const LONGEST_WARNING: usize = 256;
const MOST_WARNINGS: usize = 16;
/// Longest description of an object, in bytes: those of the API server are shorter.
const LONGEST_DESCRIPTION: usize = 1024;
/// Longest message of a rejection, in bytes.
const LONGEST_MESSAGE: usize = 4096;

/// The question.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Review {
    api_version: String,
    kind: String,
    request: Option<Request>,
}

/// Object under review.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) uid: String,
    kind: GroupVersionKind,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) object: Value,
}

#[derive(Debug, Deserialize)]
struct GroupVersionKind {
    group: String,
    version: String,
    kind: String,
}

impl Review {
    /// Reads a question; the error is for a person who asked another one.
    pub(super) fn parse(body: &[u8]) -> Result<Request, String> {
        let review: Review = serde_json::from_slice(body)
            .map_err(|error| format!("expected an AdmissionReview: {error}"))?;
        if (review.api_version.as_str(), review.kind.as_str()) != (API_VERSION, KIND) {
            return Err(format!(
                "expected {API_VERSION} {KIND}, got {} {}",
                review.api_version, review.kind
            ));
        }
        review
            .request
            .ok_or_else(|| "expected a request, got none".to_owned())
    }
}

impl Request {
    /// True if it is an Ingress of the only version that still exists.
    pub(super) fn is_ingress(&self) -> bool {
        let GroupVersionKind {
            group,
            version,
            kind,
        } = &self.kind;
        (group.as_str(), version.as_str(), kind.as_str()) == ("networking.k8s.io", "v1", "Ingress")
    }

    /// Kind, namespace and name, for a message.
    pub(super) fn described(&self) -> String {
        let GroupVersionKind {
            group,
            version,
            kind,
        } = &self.kind;
        let text = format!("{group}/{version} {kind} {}/{}", self.namespace, self.name);
        cut(&text, LONGEST_DESCRIPTION)
    }
}

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReviewResponse {
    api_version: &'static str,
    kind: &'static str,
    response: Response,
}

#[derive(Debug, Serialize)]
struct Response {
    uid: String,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Status {
    status: &'static str,
    message: String,
    reason: &'static str,
    code: u16,
}

impl ReviewResponse {
    pub(super) fn new(uid: String, admission: Admission) -> Self {
        let status = (!admission.is_allowed()).then(|| Status {
            status: "Failure",
            message: joined(&admission.errors, LONGEST_MESSAGE),
            reason: "BadRequest",
            code: 400,
        });
        let warnings = admission.warnings.iter().take(MOST_WARNINGS);
        let warnings = warnings
            .map(|warning| cut(warning, LONGEST_WARNING))
            .collect();
        let response = Response {
            uid,
            allowed: status.is_none(),
            status,
            warnings,
        };
        ReviewResponse {
            api_version: API_VERSION,
            kind: KIND,
            response,
        }
    }
}

/// Errors as one text of at most so many bytes.
pub(super) fn joined(errors: &[String], longest: usize) -> String {
    let mut text = String::new();
    for error in errors {
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(error);
        if text.len() > longest {
            break;
        }
    }
    cut(&text, longest)
}

fn cut(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(longest - 3);
    format!("{}...", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(api_version: &str, kind: &str) -> Vec<u8> {
        let kind = json!({"group": "networking.k8s.io", "version": "v1", "kind": kind});
        json!({"apiVersion": api_version, "kind": "AdmissionReview", "request": {"uid": "1", "kind": kind}})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn only_the_current_version_is_read() {
        assert!(
            Review::parse(&question(API_VERSION, "Ingress"))
                .is_ok_and(|request| request.is_ingress())
        );
        assert!(
            Review::parse(&question(API_VERSION, "Pod")).is_ok_and(|request| !request.is_ingress())
        );
        assert!(Review::parse(&question("admission.k8s.io/v1beta1", "Ingress")).is_err());
        for bad in [
            &b""[..],
            b"{}",
            b"null",
            br#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#,
        ] {
            assert!(Review::parse(bad).is_err());
        }
    }

    #[test]
    fn an_answer_repeats_the_uid_and_fits_what_the_api_server_shows() {
        let admission = Admission {
            errors: vec!["e".repeat(5000)],
            warnings: vec!["\u{e4}".repeat(300); 40],
            ..Admission::default()
        };
        let answer = serde_json::to_value(ReviewResponse::new("u".to_owned(), admission)).unwrap();
        let response = &answer["response"];
        assert_eq!(
            (&response["uid"], &response["allowed"]),
            (&json!("u"), &json!(false))
        );
        assert_eq!(response["status"]["code"], 400);
        assert_eq!(
            response["status"]["message"].as_str().unwrap().len(),
            LONGEST_MESSAGE
        );
        let warnings = response["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), MOST_WARNINGS);
        assert!(
            warnings
                .iter()
                .all(|warning| warning.as_str().unwrap().len() <= LONGEST_WARNING)
        );
    }
}
