//! Cross-origin resource sharing.

use serde::Serialize;

/// CORS headers on responses to allowed origins. Preflight requests (`OPTIONS`) are answered by the data plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cors {
    /// Allowed origins.
    pub origins: AllowedOrigins,
    /// `Access-Control-Allow-Methods`
    pub allow_methods: String,
    /// `Access-Control-Allow-Headers`
    pub allow_headers: String,
    /// `Access-Control-Allow-Credentials: true`
    pub allow_credentials: bool,
    /// `Access-Control-Expose-Headers`
    pub expose_headers: Option<String>,
    /// `Access-Control-Max-Age`, in seconds.
    pub max_age: i64,
}

/// Allowed origins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedOrigins {
    /// Any origin, and requests without one.
    Any,
    /// These origins.
    Only(Vec<AllowedOrigin>),
}

/// An origin, compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedOrigin {
    /// `https://a.example:8443`, or `null`.
    Exact(String),
    /// One label between these two: `https://` and `.example`.
    Wildcard {
        /// With its slashes.
        scheme: String,
        /// With its first dot.
        suffix: String,
    },
}

impl AllowedOrigins {
    /// True if a request with this `Origin` is answered as one of them.
    #[must_use]
    pub fn allow(&self, origin: Option<&str>) -> bool {
        match (self, origin) {
            (AllowedOrigins::Any, _) => true,
            (AllowedOrigins::Only(_), None) => false,
            (AllowedOrigins::Only(origins), Some(origin)) => {
                origins.iter().any(|allowed| allowed.is(origin))
            }
        }
    }
}

impl AllowedOrigin {
    fn is(&self, origin: &str) -> bool {
        match self {
            AllowedOrigin::Exact(text) => text.eq_ignore_ascii_case(origin),
            AllowedOrigin::Wildcard { scheme, suffix } => {
                let origin = origin.to_ascii_lowercase();
                let label = origin
                    .strip_prefix(&scheme.to_ascii_lowercase())
                    .and_then(|rest| rest.strip_suffix(&suffix.to_ascii_lowercase()));
                let is_label = |label: &str| {
                    let mut letters = label.bytes();
                    !label.is_empty() && letters.all(|b| b.is_ascii_alphanumeric() || b == b'-')
                };
                label.is_some_and(is_label)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_compared_without_case_and_a_wildcard_is_one_label() {
        let wildcard = AllowedOrigin::Wildcard {
            scheme: "https://".to_owned(),
            suffix: ".a.example".to_owned(),
        };
        let only = AllowedOrigins::Only(vec![AllowedOrigin::Exact("null".to_owned()), wildcard]);
        for allowed in ["NULL", "https://x.a.example", "HTTPS://X-1.A.example"] {
            assert!(only.allow(Some(allowed)), "{allowed}");
        }
        for other in [
            "https://.a.example",
            "https://x.y.a.example",
            "http://x.a.example",
            "",
        ] {
            assert!(!only.allow(Some(other)), "{other}");
        }
        assert!(!only.allow(None) && AllowedOrigins::Any.allow(None));
    }
}
