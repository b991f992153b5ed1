//! Secrets.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Id of a secret, unique in a configuration. Data planes carry it; only the input that composed it knows its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SecretId(Arc<str>);

impl SecretId {
    /// An id as an input composes it.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        SecretId(text.into())
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
        /// PEM, leaf first.
        chain: String,
        /// Private key of the leaf, PEM.
        key: Sensitive,
    },
    /// Trusted certificate authorities, and certificates that they revoked.
    Authorities {
        /// PEM.
        certificates: String,
        /// Certificate revocation list, PEM.
        revoked: Option<String>,
    },
}

/// A text that is never shown: not in logs, not in golden files, not in dumps.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sensitive(String);

impl Sensitive {
    /// A text that is not shown from here on.
    #[must_use]
    pub fn new(text: String) -> Self {
        Sensitive(text)
    }

    /// The text, for sending it.
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
