//! Admission reviews, as the API server sends them.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::super::objects::{self, Places};
use super::super::schema::Ingress;
use super::super::then::Then;
use super::super::when::When;
use super::super::world::World;
use crate::cases::ingress::check::texts;
use crate::cases::ingress::expect;
use crate::connection::Connection;
use crate::dial::Dial;
use crate::http::{Request, Response};
use crate::wait;

/// Path of the original's webhook.
const PATH: &str = "/networking/v1/ingresses";

impl World {
    /// Asks for a review.
    pub async fn admission(&mut self, when: &When, then: &Then) -> Result<Vec<String>, String> {
        let addr = match self.listeners.admission() {
            Ok(addr) => addr,
            Err(missing) => return Ok(vec![missing]),
        };
        let answer = async {
            let body = review(when, self.model.position(when), &self.pods.places())?;
            let opens = async || Connection::dial(&Dial::tls(addr, "localhost")).await.ok();
            let (mut connection, _) = wait::until("the admission webhook", opens).await?;
            let request =
                Request::new("POST", "localhost", PATH).header("content-type", "application/json");
            connection.send(&request.body(body)).await.context("review")
        };
        match answer.await {
            Ok(answer) => judge(&answer, then),
            Err(error) => Ok(vec![format!("admission: {error:#}")]),
        }
    }
}

fn review(when: &When, position: usize, places: &Places) -> Result<Vec<u8>> {
    let object = when.object.as_deref().context("a review needs an object")?;
    let as_object = |ingress: &Ingress| objects::ingress(ingress, position, places);
    let kind = json!({ "group": "networking.k8s.io", "version": "v1", "kind": "Ingress" });
    let resource =
        json!({ "group": "networking.k8s.io", "version": "v1", "resource": "ingresses" });
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "6f2e7a5e-0000-4000-8000-000000000001",
            "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": object.name, "namespace": object.namespace(),
            "operation": when.admission, "userInfo": {}, "dryRun": false,
            "object": as_object(object),
            "oldObject": when.old_object.as_deref().map(as_object),
        },
    });
    let mut body = review.to_string().into_bytes();
    if let Some(length) = object.raw_body_bytes {
        // Blanks behind the document, which is JSON still.
        body.resize(length, b' ');
    }
    Ok(body)
}

fn judge(answer: &Response, then: &Then) -> Result<Vec<String>, String> {
    let mut reasons = Vec::new();
    let body = answer.text();
    let review: Value = serde_json::from_str(&body).unwrap_or_default();
    let allowed = answer.status == 200 && review["response"]["allowed"] == true;
    if then.allowed.is_some_and(|expected| expected != allowed) {
        let message = &review["response"]["status"]["message"];
        reasons.push(format!(
            "allowed: expected {}, got {allowed} ({message})",
            !allowed
        ));
    }
    let expected_status = then.http_status.clone().unwrap_or(json!(200));
    if !expect::status(&expected_status, answer.status)? {
        reasons.push(format!(
            "http_status: expected {expected_status}, got {}",
            answer.status
        ));
    }
    for text in then
        .body_contains
        .iter()
        .flat_map(texts)
        .filter(|text| !body.contains(text))
    {
        reasons.push(format!("body_contains: expected {text:?} in {body:?}"));
    }
    for text in then
        .body_not_contains
        .iter()
        .flat_map(texts)
        .filter(|text| body.contains(text))
    {
        reasons.push(format!("body_not_contains: {text:?} is in {body:?}"));
    }
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn against(status: u16, body: &Value, then: Value) -> usize {
        let answer = Response {
            status,
            body: body.to_string().into_bytes(),
            ..Response::default()
        };
        judge(&answer, &serde_json::from_value(then).unwrap())
            .unwrap()
            .len()
    }

    #[test]
    fn a_review_that_is_not_answered_allows_nothing() {
        let yes = json!({ "response": { "allowed": true } });
        assert_eq!(against(200, &yes, json!({ "allowed": true })), 0);
        assert_eq!(against(200, &yes, json!({ "allowed": false })), 1);
        assert_eq!(
            against(
                413,
                &json!(""),
                json!({ "allowed": false, "http_status": 413 })
            ),
            0
        );
        assert_eq!(
            against(500, &yes, json!({ "allowed": false })),
            1,
            "an error is no refusal"
        );
    }

    #[test]
    fn a_body_of_a_length_is_still_a_review() {
        let object = json!({ "raw_body_bytes": 4096 });
        let when =
            serde_json::from_value(json!({ "admission": "CREATE", "object": object })).unwrap();
        let body = review(&when, 0, &Places::default()).unwrap();
        let review: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (body.len(), &review["request"]["operation"]),
            (4096, &json!("CREATE"))
        );
    }
}
