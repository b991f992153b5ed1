//! The words of `when`: one request or one action.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::schema::Ingress;

/// One request or one action.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// The method of a request.
    pub method: Option<String>,
    /// `http` or `https`.
    pub scheme: Option<String>,
    /// The host; without it the address is the host.
    pub host: Option<String>,
    /// Path and query.
    pub path: Option<String>,
    /// These bytes as they are: `true` for the path, or a path of its own.
    pub path_as_is: Option<Value>,
    /// Headers; a list is several of one name, `null` none.
    pub headers: BTreeMap<String, OneOrMany>,
    /// Cookies.
    pub cookies: BTreeMap<String, String>,
    /// User and password.
    pub basic: Option<[String; 2]>,
    /// A body of this many bytes.
    pub body_bytes: Option<usize>,
    /// A body of these bytes.
    pub raw_body: Option<String>,
    /// The server name of the handshake; `null` is none, not given is the host.
    #[serde(deserialize_with = "given")]
    pub sni: Option<Option<String>>,
    /// `CN=x`, signed by the CA `ca`, or `CN=x;CA=other`.
    pub client_cert: Option<String>,
    /// `grpc`.
    pub protocol: Option<String>,
    /// A line of the PROXY protocol, version 1.
    pub proxy_header: Option<String>,
    /// How many times.
    pub repeat: Option<usize>,
    /// How many at once.
    pub concurrency: Option<usize>,
    /// How many in a second.
    pub rate: Option<Value>,
    /// The variation from request to request.
    pub vary: Option<Value>,
    /// Keeps a cookie of the answer.
    pub save_cookie: Option<String>,
    /// Sends the kept cookie.
    pub use_cookie: Option<String>,
    /// An action before the request.
    pub after: OneOrMany,

    /// The operation of an admission review.
    pub admission: Option<String>,
    /// The reviewed object.
    pub object: Option<Box<Ingress>>,
    /// The object as it was, of an update.
    pub old_object: Option<Box<Ingress>>,
    /// Reads something of an object, as `Ingress.status.loadBalancer.ingress`.
    pub read: Option<String>,
    /// A command beside the controller.
    pub exec: Option<String>,
    /// A metric's name.
    pub metric: Option<String>,
    /// Requests before the metric is read.
    pub request: Option<Box<When>>,
    /// A signal to the controller.
    pub signal: Option<String>,
    /// The port to connect to.
    pub tcp_connect: Option<u16>,
    /// Bytes to send there.
    pub send: Option<String>,
    /// A name to ask for, over TCP.
    pub dns_over_tcp: Option<Value>,
    /// The expectation may take this long.
    pub within_s: Option<f64>,
}

/// One value or several; `null` is none.
#[derive(Clone, Debug, Default)]
pub struct OneOrMany(pub Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = |value: Value| match value {
            Value::String(text) => Ok(text),
            Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
            other => Err(serde::de::Error::custom(format!(
                "expected a text or a list of texts, got {other}"
            ))),
        };
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(OneOrMany::default()),
            Value::Array(many) => many
                .into_iter()
                .map(text)
                .collect::<Result<_, _>>()
                .map(OneOrMany),
            one => text(one).map(|one| OneOrMany(vec![one])),
        }
    }
}

impl When {
    /// Returns `true` if it is a request.
    pub fn is_request(&self) -> bool {
        self.method.is_some()
            || self.scheme.is_some()
            || self.host.is_some()
            || self.path.is_some()
            || self.path_as_is.is_some()
            || self.protocol.is_some()
    }
}

/// Tells `null` from nothing at all.
pub(super) fn given<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}
