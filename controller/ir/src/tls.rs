//! TLS towards clients.

use std::num::NonZeroU32;

use serde::Serialize;

use crate::{DirectResponse, SecretId, TlsVersions, is_default};

/// TLS settings of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HostTls {
    /// Certificate of the host; `None` is the default certificate.
    #[serde(skip_serializing_if = "is_default")]
    pub certificate: Option<SecretId>,
    /// Without a certificate it does not present that of the wildcard that covers it, which is another namespace's.
    #[serde(skip_serializing_if = "is_default")]
    pub no_wildcard_certificate: bool,
    /// Clients are asked for a certificate, which is checked against this. What a check means to a request is its
    /// server's business.
    #[serde(skip_serializing_if = "is_default")]
    pub client_validation: Option<ClientValidation>,
    /// As [`ServerTls::ciphers`]; empty: those of all hosts.
    #[serde(skip_serializing_if = "is_default")]
    pub ciphers: Vec<String>,
}

/// Validation of certificates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ClientValidation {
    /// The authorities.
    pub ca: SecretId,
    /// Certificates between the client's and an authority's.
    pub depth: u32,
}

/// Headers that tell pods and authentication services of a client's certificate, as in ingress-nginx: the result of its verification, its
/// subject, its issuer, and the certificate itself.
pub const CLIENT_CERTIFICATE_HEADERS: [&str; 4] = [
    "ssl-client-verify",
    "ssl-client-subject-dn",
    "ssl-client-issuer-dn",
    "ssl-client-cert",
];

/// Verification of client certificates by a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientCertificates {
    /// Against what it was checked.
    pub validation: ClientValidation,
    /// Mode of verification.
    pub verify: VerifyClient,
    /// Only who is called so: a pattern that is found in the subject (RFC 2253), and not in an empty one.
    #[serde(skip_serializing_if = "is_default")]
    pub subject: Option<String>,
    /// Response to rejected clients; `None` is a plain 400.
    pub error_page: Option<RefusalPage>,
    /// Pods see the certificate.
    pub forward_certificate: bool,
}

/// Response to clients that are rejected for their certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RefusalPage {
    /// A redirect, 302, to this URL or path.
    Url(String),
    /// This response, which has no conditions.
    Response(Box<DirectResponse>),
}

/// Mode of verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyClient {
    /// A valid certificate is required.
    Required,
    /// A certificate is requested; if one is sent, it must be valid.
    Optional,
    /// Accept any; pods receive the result.
    Untrusted,
    /// No certificate is requested.
    Off,
}

/// TLS settings for all clients. The defaults are ingress-nginx's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerTls {
    /// Lowest and highest version.
    pub versions: TlsVersions,
    /// Cipher suites of TLS 1.2, by OpenSSL's names in the order of preference; empty: those of the data plane.
    #[serde(skip_serializing_if = "is_default")]
    pub ciphers: Vec<String>,
    /// Groups of the key exchange, by OpenSSL's names in the order of preference; empty: those of the data plane.
    #[serde(skip_serializing_if = "is_default")]
    pub curves: Vec<String>,
    /// Seconds that a session can be resumed, if configured.
    #[serde(skip_serializing_if = "is_default")]
    pub session_timeout: Option<NonZeroU32>,
    /// A handshake for a name that no server has fails.
    #[serde(skip_serializing_if = "is_default")]
    pub reject_unknown_names: bool,
}
