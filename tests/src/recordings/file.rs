//! A recording: objects, requests, and what ingress-nginx answered.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sluice_translate::annotations::{GROUPS, Role};

use super::Played;

/// A file of recordings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The software that answered; for readers.
    #[serde(rename = "measured_with")]
    _measured_with: String,
    /// Meaning of the fields of an answer; for readers.
    #[serde(rename = "answer")]
    _answer: String,
    /// Name of the set; for readers.
    #[serde(rename = "set")]
    _set: String,
    /// The cases.
    pub cases: Vec<RecordedCase>,
}

/// Objects, and the requests that were sent to them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCase {
    /// Name of the case.
    pub id: String,
    /// The objects, in the vocabulary of acceptance cases.
    pub given: Map<String, Value>,
    /// The reason why ingress-nginx did not serve it, and there are no requests; for readers.
    #[serde(rename = "not_served")]
    _not_served: Option<String>,
    /// The requests, in order.
    pub requests: Vec<Exchange>,
}

/// A request and its answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The request.
    pub request: RecordedRequest,
    /// The answer.
    pub answer: Map<String, Value>,
}

/// A request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedRequest {
    /// The method.
    pub method: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The value of `Host`, and the server name of the handshake.
    pub host: String,
    /// Path and query; `-` where `raw` has them.
    pub target: String,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// The whole request, instead of all of these.
    pub raw: Option<String>,
    /// The server name of the handshake, where it is not the host.
    #[serde(default, deserialize_with = "present")]
    pub sni: Option<Option<String>>,
    /// The client's certificate: `CN=NAME[;CA=NAME]`.
    pub client_cert: Option<String>,
    /// Bytes of the body.
    pub body: Option<usize>,
    /// How many times it is sent.
    pub repeat: Option<usize>,
    /// Keeps the cookies of the answer.
    #[serde(default)]
    pub save_cookie: bool,
    /// Sends the kept cookies.
    #[serde(default)]
    pub use_cookie: bool,
}

/// `null` is a value, too.
fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl RecordedCase {
    /// Returns `true` if ingress-nginx dropped the Ingress because of an annotation: there is one that is no plain switch, and
    /// every answer is its own page for 404.
    pub fn is_refused(&self) -> bool {
        let is_page = |answer: &Map<String, Value>| {
            let body = answer.get("body").and_then(Value::as_str);
            let statuses = answer.get("status_counts").and_then(Value::as_object);
            let is_counted = statuses.is_some_and(|counts| counts.keys().eq(["404"]));
            let is_one = answer.get("status") == Some(&404.into())
                && matches!(body, Some("page: 404 Not Found" | ""));
            (is_one || is_counted) && !answer.contains_key("also_asked")
        };
        let answers = || self.requests.iter().map(|exchange| &exchange.answer);
        let is_switch = |value: &Value| matches!(value.as_str(), Some("true" | "false"));
        self.annotations().any(|(_, value)| !is_switch(value))
            && answers().next().is_some()
            && answers().all(is_page)
    }

    /// Returns `true` if an Ingress has an annotation of access control.
    pub fn restricts_access(&self) -> bool {
        let all = || GROUPS.iter().flat_map(|group| group.annotations);
        self.annotations().any(|(name, _)| {
            all().any(|known| known.name == name && known.role == Role::AccessControl)
        })
    }

    /// The annotations of its Ingresses, by their names without a prefix.
    fn annotations(&self) -> impl Iterator<Item = (&str, &Value)> {
        let ingresses = self.given.get("ingresses").and_then(Value::as_array);
        ingresses
            .into_iter()
            .flatten()
            .filter_map(|ingress| ingress["annotations"].as_object())
            .flatten()
            .filter_map(|(key, value)| Some((key.split_once('/')?.1, value)))
    }

    /// Returns `true` if pods may receive copies of requests, which arrive at any time.
    pub fn has_copies(&self) -> bool {
        let ingresses = self.given.get("ingresses").map(Value::to_string);
        ingresses.is_some_and(|ingresses| ingresses.contains("/mirror-target"))
    }
}

impl Recording {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Recording> {
        read(path)
    }

    /// The same requests with the answers of Sluice, as JSON.
    pub fn with_answers(path: &Path, data_plane: &str, all: &[Played]) -> Result<String> {
        let mut file: Value = read(path)?;
        file["measured_with"] = format!("Sluice, {data_plane}").into();
        let cases = file["cases"].as_array_mut().context("cases")?;
        for case in cases {
            let id = case["id"].clone();
            for played in all.iter().filter(|played| played.id == id) {
                case["requests"][played.number - 1]["answer"] = played.answer.clone().into();
            }
        }
        Ok(serde_json::to_string_pretty(&file)? + "\n")
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    serde_json::from_reader(BufReader::new(file)).with_context(|| path.display().to_string())
}
