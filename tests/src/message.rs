//! Requests exactly as written, and the answers in full.
//!
//! HTTP libraries mend what they send; a test of a proxy must be able to send `/a/../b`, two Host headers or none.

use anyhow::{Context, Result};
use serde_json::Value;

/// A request. The target and the headers go out as they are.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request target: path and query, raw.
    pub target: String,
    /// All headers in order, Host among them.
    pub headers: Vec<(String, String)>,
    /// The body; a Content-Length is added when there is one.
    pub body: Vec<u8>,
}

impl Request {
    /// A request of any method.
    pub fn new(method: &str, host: &str, target: &str) -> Request {
        let headers = vec![("host".to_owned(), host.to_owned())];
        Request {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body: Vec::new(),
        }
    }

    /// A GET.
    pub fn get(host: &str, target: &str) -> Request {
        Request::new("GET", host, target)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds several.
    #[must_use]
    pub fn headers(self, headers: &[(&str, &str)]) -> Request {
        let all = headers.iter();
        all.fold(self, |request, (name, value)| request.header(name, value))
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self
    }

    /// The request as HTTP/1.1.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        // A test that frames its body itself means it.
        let framed = |name: &str| {
            ["content-length", "transfer-encoding"]
                .iter()
                .any(|own| name.eq_ignore_ascii_case(own))
        };
        if !self.body.is_empty() && !self.headers.iter().any(|(name, _)| framed(name)) {
            text.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// All headers in order; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, without its transfer encoding.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of this name (in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Every header of this name (in lower case).
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The echo pod that answered.
    pub fn pod(&self) -> Option<&str> {
        self.header("x-pod")
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON: what an echo pod received.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body)
            .with_context(|| format!("status {}, body {:?}", self.status, self.text()))
    }
}
