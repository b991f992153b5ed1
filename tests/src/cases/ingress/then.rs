//! The words of `then`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::when::given;

/// Expectations. Numbers may be ranges everywhere.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Then {
    /// The status of every answer: a number, a class as `5xx`, or a list of those.
    pub status: Option<Value>,
    /// How many answers had which status.
    pub status_counts: BTreeMap<String, Value>,
    /// The header Route; `null` is none.
    #[serde(deserialize_with = "given")]
    pub location: Option<Option<String>>,
    /// How it ends.
    pub location_suffix: Option<String>,
    /// Headers of the answer; `null` is absent.
    pub headers: BTreeMap<String, Value>,
    /// Headers that the answer has not.
    pub headers_absent: Vec<String>,
    /// Headers that it has, whatever their value.
    pub headers_present: Vec<String>,
    /// How often a header is in the answer.
    pub header_count: BTreeMap<String, Value>,
    /// Text in the body.
    pub body_contains: Option<Value>,
    /// Text that is not in the body.
    pub body_not_contains: Option<Value>,
    /// A cookie that is set, by its attributes or just its name; `null` is none; a list: each of these.
    #[serde(deserialize_with = "given")]
    pub set_cookie: Option<Option<Value>>,
    /// Text of a Set-Cookie header.
    pub set_cookie_raw: Option<String>,
    /// A cookie that is not set.
    pub no_set_cookie: Option<Value>,
    /// The certificate.
    pub tls: Option<Certificate>,
    /// The status of a gRPC answer.
    pub grpc_status: Option<Value>,
    /// The status, where something else is the answer proper.
    pub http_status: Option<Value>,

    /// The service whose pod answered; `null` is none.
    #[serde(deserialize_with = "given")]
    pub backend: Option<Option<String>>,
    /// A pod received the request.
    pub proxied: Option<bool>,
    /// How many pods answered.
    pub distinct_pods: Option<Value>,
    /// How many requests each pod answered.
    pub per_pod: Option<Value>,
    /// It is the same pod as before.
    pub same_pod: Option<bool>,
    /// How many requests each service (or pod) answered.
    pub distribution: BTreeMap<String, Value>,
    /// How many requests pods answered.
    pub total: Option<Value>,
    /// The endpoints in use.
    pub endpoints_are: Option<Vec<Value>>,
    /// The path that the pod saw.
    pub upstream_path: Option<String>,
    /// The query that it saw; `null` and empty are none.
    #[serde(deserialize_with = "given")]
    pub upstream_query: Option<Option<String>>,
    /// The method that it saw.
    pub upstream_method: Option<String>,
    /// The protocol that it saw, as `HTTP/1.1`.
    pub upstream_proto: Option<String>,
    /// Headers that it saw.
    pub upstream_headers: BTreeMap<String, Value>,
    /// Headers that it did not see.
    pub upstream_headers_absent: Vec<String>,
    /// Headers that it saw with another value, or not at all.
    pub upstream_header_not: BTreeMap<String, Value>,
    /// How headers that it saw begin.
    pub upstream_header_prefix: BTreeMap<String, String>,
    /// Regular expressions of headers that it saw.
    pub upstream_header_regex: BTreeMap<String, String>,
    /// How many requests arrived; by service, when it is an object.
    pub upstream_hits: Option<Value>,
    /// The server name of the handshake with the pod; `null` is none.
    #[serde(deserialize_with = "given")]
    pub upstream_sni: Option<Option<String>>,
    /// The client certificate that the pod saw: its name, or whether there was one.
    #[serde(deserialize_with = "given")]
    pub upstream_client_cert: Option<Option<Value>>,
    /// The request to the auth service.
    pub auth_request: Option<BTreeMap<String, Value>>,

    /// The answer of an admission review.
    pub allowed: Option<bool>,
    /// The value that was read.
    #[serde(deserialize_with = "given")]
    pub equals: Option<Option<Value>>,
    /// The list that was read, in any order.
    pub set_equals: Option<Vec<Value>>,
    /// The metric (or value) does not exist.
    pub absent: Option<bool>,
    /// JSON that was printed: all of this is in it.
    pub json: Option<Value>,
    /// The `name` of the JSON that was printed.
    pub json_name: Option<String>,
    /// The lines that were printed, in any order.
    pub lines: Option<Vec<String>>,
    /// The label `host` of the metric; a list: of its series; `null`: none has it.
    #[serde(deserialize_with = "given")]
    pub label_host: Option<Option<Value>>,
    /// Text in the log.
    pub log_contains: Option<Value>,
    /// Text in the configuration of the data plane.
    pub config_contains: Option<Value>,
    /// The configuration of the data plane differs from before.
    pub checksum_changed: Option<bool>,
    /// `false`: the data plane was not reloaded.
    pub reload: Option<bool>,
    /// The answer to a DNS question.
    pub answer: Option<Value>,
    /// How long the check took.
    pub elapsed_s: Option<Value>,
}

/// A certificate that is shown to the client.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Certificate {
    /// The common name.
    pub cn: Option<String>,
    /// The DNS names, in any order.
    pub dns: Option<Vec<String>>,
    /// The end of TLS: a service, `backend`, or the controller.
    pub terminated_by: Option<String>,
}
