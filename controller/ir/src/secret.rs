//! Secrets.

use std::fmt;

use serde::{Serialize, Serializer};

/// Names a Secret of Kubernetes, and what of it: `namespace/name`, `namespace/name/ca`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SecretId(String);

impl SecretId {
    /// A certificate with its key.
    #[must_use]
    pub fn certificate(namespace: &str, name: &str) -> Self {
        SecretId(format!("{namespace}/{name}"))
    }

    /// The authorities that are in the same Secret.
    #[must_use]
    pub fn authorities(namespace: &str, name: &str) -> Self {
        SecretId(format!("{namespace}/{name}/ca"))
    }

    /// The users that are in one of its entries.
    #[must_use]
    pub fn users(namespace: &str, name: &str) -> Self {
        SecretId(format!("{namespace}/{name}/users"))
    }

    /// The users that its entries are named by.
    #[must_use]
    pub fn users_by_entry(namespace: &str, name: &str) -> Self {
        SecretId(format!("{namespace}/{name}/users-by-entry"))
    }

    /// The id as the data plane sees it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Content of a Secret, PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretValue {
    /// A certificate with its chain, and its private key.
    Certificate {
        /// From the leaf up.
        chain: String,
        /// Of the leaf.
        key: Sensitive,
    },
    /// Certificates that are believed, and certificates that are not any more.
    Authorities {
        /// Trusted certificate authorities.
        certificates: String,
        /// Certificate revocation list.
        revoked: Option<String>,
    },
}

/// A text that is never shown: not in logs, not in golden files, not in dumps.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sensitive(String);

impl Sensitive {
    /// From now on it is not shown.
    #[must_use]
    pub fn new(text: String) -> Self {
        Sensitive(text)
    }

    /// For whoever has to send it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Serialize for Sensitive {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let value = SecretValue::Certificate {
            chain: "C".into(),
            key: Sensitive::new("K-E-Y".into()),
        };
        assert!(!format!("{value:?}").contains("K-E-Y"));
    }
}
