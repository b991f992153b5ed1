//! Error responses of the fake: a `Status`, as in Kubernetes.

use serde_json::{Value, json};

use super::kinds::Kind;

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    reason: &'static str,
    message: String,
}

impl Refusal {
    pub(super) fn not_found(plural: &str, name: &str) -> Self {
        Refusal {
            code: 404,
            reason: "NotFound",
            message: format!("{plural} {name:?} not found"),
        }
    }

    pub(super) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", kind.plural);
        Refusal {
            code: 409,
            reason: "AlreadyExists",
            message,
        }
    }

    pub(super) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!(
            "operation cannot be fulfilled on {} {name:?}: {why}",
            kind.plural
        );
        Refusal {
            code: 409,
            reason: "Conflict",
            message,
        }
    }

    pub(super) fn invalid(kind: &Kind, why: &str) -> Self {
        Refusal {
            code: 422,
            reason: "Invalid",
            message: format!("{} is invalid: {why}", kind.name),
        }
    }

    pub(super) fn bad_request(why: &str) -> Self {
        Refusal {
            code: 400,
            reason: "BadRequest",
            message: why.to_owned(),
        }
    }

    pub(super) fn unavailable(why: &str) -> Self {
        Refusal {
            code: 503,
            reason: "ServiceUnavailable",
            message: why.to_owned(),
        }
    }

    pub(super) fn expired() -> Self {
        Refusal {
            code: 410,
            reason: "Expired",
            message: "too old resource version".to_owned(),
        }
    }

    /// The body.
    pub(super) fn status(&self) -> Value {
        status(self.code, self.reason, &self.message)
    }
}

/// A `Status` with a failure.
pub(super) fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    })
}
