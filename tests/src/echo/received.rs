//! A request as a pod received it, for its response and its journal.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::header::HOST;
use hyper::http::request::Parts;
use serde_json::{Value, json};

use super::EchoIdentity;
use crate::fastcgi::Params;

/// One request, as the pod saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The pod.
    pub pod: String,
    /// Its Service.
    pub service: String,
    /// Its namespace.
    pub namespace: String,
    /// The method.
    pub method: String,
    /// The path, raw.
    pub path: String,
    /// The query, raw.
    pub query: Option<String>,
    /// Values by name in lower case.
    pub headers: BTreeMap<String, Vec<String>>,
    /// `:authority` or Host.
    pub host: Option<String>,
    /// `HTTP/1.1`, `HTTP/2.0` ...
    pub http: String,
    /// The length of the body.
    pub body_bytes: usize,
    /// How the connection was made.
    pub connection: Transport,
}

/// The beginning of a connection, before its first request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transport {
    /// TLS.
    pub tls: bool,
    /// The server name of the handshake.
    pub sni: Option<String>,
    /// The client's certificate, in DER.
    pub client_certificate: Option<Vec<u8>>,
    /// The line of the PROXY protocol.
    pub proxy_line: Option<String>,
}

impl Received {
    pub(super) fn of(
        identity: &EchoIdentity,
        parts: &Parts,
        body_bytes: usize,
        from: &Transport,
    ) -> Received {
        let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        for (name, value) in &parts.headers {
            headers
                .entry(name.as_str().to_owned())
                .or_default()
                .push(text(value.as_bytes()));
        }
        let authority = parts
            .uri
            .authority()
            .map(|authority| authority.as_str().to_owned());
        let host = parts.headers.get(HOST).map(|host| text(host.as_bytes()));
        Received {
            pod: identity.pod.clone(),
            service: identity.service.clone(),
            namespace: identity.namespace.clone(),
            method: parts.method.as_str().to_owned(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().map(str::to_owned),
            headers,
            host: authority.or(host),
            http: format!("{:?}", parts.version),
            body_bytes,
            connection: from.clone(),
        }
    }

    /// The request of an application of FastCGI.
    pub(super) fn from_params(
        identity: &EchoIdentity,
        params: &Params,
        body_bytes: usize,
        from: &Transport,
    ) -> Received {
        let text = |name: &str| {
            let value = params.get(name).map(Vec::as_slice).unwrap_or_default();
            String::from_utf8_lossy(value).into_owned()
        };
        let target = text("REQUEST_URI");
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target.as_str(), None),
        };
        let headers = params.keys();
        Received {
            pod: identity.pod.clone(),
            service: identity.service.clone(),
            namespace: identity.namespace.clone(),
            method: text("REQUEST_METHOD"),
            path: path.to_owned(),
            query: query.map(str::to_owned),
            headers: headers
                .map(|name| (name.to_ascii_lowercase(), vec![text(name)]))
                .collect(),
            host: params.get("HTTP_HOST").map(|_| text("HTTP_HOST")),
            http: "FastCGI".to_owned(),
            body_bytes,
            connection: from.clone(),
        }
    }

    /// The header, several joined by `, `.
    pub fn header(&self, name: &str) -> Option<String> {
        match name {
            ":authority" => self.host.clone(),
            name => self.headers.get(name).map(|values| values.join(", ")),
        }
    }

    /// The request as the response describes it.
    pub fn to_json(&self) -> Value {
        json!({
            "pod": self.pod,
            "service": self.service,
            "namespace": self.namespace,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": self.headers,
            "host": self.host,
            "http": self.http,
            "body_bytes": self.body_bytes,
            "tls": self.connection.tls.then(|| json!({ "sni": self.connection.sni })),
        })
    }
}

/// Everything that pods received, in the order of arrival; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Vec<Received>>>);

impl Journal {
    pub(super) fn add(&self, received: Received) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(received);
    }

    /// How much there is: a place for [`Journal::since`].
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns `true` if nothing arrived yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Requests after a position that [`Journal::len`] gave.
    pub fn since(&self, place: usize) -> Vec<Received> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .skip(place)
            .cloned()
            .collect()
    }
}
