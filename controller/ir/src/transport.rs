//! How a pod is spoken to: what a data plane needs to know before it connects.

use std::num::NonZeroU32;

use serde::Serialize;

use crate::{Copies, SecretId, is_default};

/// Two routes that speak differently to the same pods have two backends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Transport {
    /// Seconds until a connection is made.
    pub connect_timeout: u32,
    /// Protocol, with its version.
    pub protocol: Protocol,
    /// TLS towards the endpoints; `None` is plain text.
    #[serde(skip_serializing_if = "is_default")]
    pub tls: Option<UpstreamTls>,
    /// Connections begin with a PROXY protocol header, which has the client address.
    #[serde(skip_serializing_if = "is_default")]
    pub proxy_protocol: bool,
    /// Limits of idle connections.
    #[serde(skip_serializing_if = "is_default")]
    pub keep_alive: KeepAlive,
    /// Most concurrent connections, or UDP sessions; `None` is no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub max_connections: Option<NonZeroU32>,
    /// Form of the copies that a mirror gets; `None` are requests of clients.
    #[serde(skip_serializing_if = "is_default")]
    pub copies: Option<Copies>,
}

impl Default for Transport {
    fn default() -> Self {
        Transport {
            connect_timeout: 5,
            protocol: Protocol::Http1,
            tls: None,
            proxy_protocol: false,
            keep_alive: KeepAlive::default(),
            max_connections: None,
            copies: None,
        }
    }
}

/// How long a connection to a pod is kept for the next request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct KeepAlive {
    /// Seconds without a request.
    pub idle_timeout: u32,
    /// Requests, if they are counted.
    #[serde(skip_serializing_if = "is_default")]
    pub max_requests: Option<NonZeroU32>,
    /// Seconds in all, if they are counted.
    #[serde(skip_serializing_if = "is_default")]
    pub max_lifetime: Option<NonZeroU32>,
}

impl Default for KeepAlive {
    fn default() -> Self {
        KeepAlive {
            idle_timeout: 60,
            max_requests: None,
            max_lifetime: None,
        }
    }
}

/// Protocol towards endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1
    #[default]
    Http1,
    /// HTTP/2, which gRPC needs.
    Http2,
    /// FastCGI, which nginx alone speaks.
    FastCgi,
}

/// TLS towards pods. As in ingress-nginx nothing is verified and no name is sent by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct UpstreamTls {
    /// The certificate that pods see.
    #[serde(skip_serializing_if = "is_default")]
    pub certificate: Option<SecretId>,
    /// Pods must present a certificate of these authorities, for this name.
    #[serde(skip_serializing_if = "is_default")]
    pub verify: Option<Verify>,
    /// SNI
    #[serde(skip_serializing_if = "is_default")]
    pub server_name: Option<String>,
    /// Versions offered to endpoints: the lowest and the highest of those that are enabled.
    #[serde(skip_serializing_if = "is_default")]
    pub versions: TlsVersions,
    /// Of TLS 1.2, as [`crate::ServerTls::ciphers`].
    #[serde(skip_serializing_if = "is_default")]
    pub ciphers: Vec<String>,
}

/// Verification of an endpoint's certificate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Verify {
    /// Trusted certificate authorities.
    pub ca: SecretId,
    /// The name in the certificate.
    pub name: String,
    /// Certificates between the pod's and an authority's.
    pub depth: u32,
}

/// TLS versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TlsVersions {
    /// TLS 1.2
    pub v1_2: bool,
    /// TLS 1.3
    pub v1_3: bool,
}

impl Default for TlsVersions {
    /// nginx's, in both directions, but for versions before TLS 1.2: OpenSSL 3 has them on a security level only that nobody sets.
    fn default() -> Self {
        TlsVersions {
            v1_2: true,
            v1_3: true,
        }
    }
}
