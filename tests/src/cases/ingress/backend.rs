//! The words of `backends`: services that do not just echo.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::Error;
use serde_json::{Map, Value};

use crate::script::{Answer, Script};

/// A scripted service. Its answers stand under `responses`, or beside the other words by their path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backend {
    /// `https`: only TLS; `http`: only plain; not given: whichever the client speaks.
    pub scheme: Option<String>,
    /// Host name of its certificate.
    pub cert: Option<String>,
    /// Its responses.
    pub script: Script,
    /// Pods that respond to some paths by themselves.
    pub pods: BTreeMap<String, BTreeMap<String, Answer>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Words {
    scheme: Option<String>,
    cert: Option<String>,
    responses: BTreeMap<String, Value>,
    pods: BTreeMap<String, BTreeMap<String, Value>>,
    fail_first: u64,
    fail_status: Option<u16>,
    delay_s: f64,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Response {
    status: Option<u16>,
    headers: BTreeMap<String, Value>,
    body: Option<Value>,
    delay_s: f64,
    fail_first: u64,
    fail_status: Option<u16>,
}

impl<'de> Deserialize<'de> for Backend {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Map::deserialize(deserializer)?;
        let (paths, words) = all
            .into_iter()
            .partition(|(word, _)| word == "*" || word.starts_with('/'));
        Backend::of(paths, words).map_err(D::Error::custom)
    }
}

impl Backend {
    fn of(paths: Map<String, Value>, words: Map<String, Value>) -> Result<Backend, String> {
        let words: Words = read(Value::Object(words))?;
        let mut script = Script::echo().delay(seconds(words.delay_s)?);
        let mut fail = (words.fail_first, words.fail_status);
        for (path, response) in paths.into_iter().chain(words.responses) {
            let response = Response::read(response)?;
            if response.fail_first > 0 {
                fail = (response.fail_first, response.fail_status);
            }
            script = script.answer(&path, response.answer()?);
        }
        if fail.0 > 0 {
            script = script.fail_first(fail.0, fail.1.unwrap_or(503));
        }
        let Words {
            scheme, cert, pods, ..
        } = words;
        let answers = |responses: BTreeMap<String, Value>| {
            let answer = |response| Response::read(response)?.answer();
            let answers = responses
                .into_iter()
                .map(|(path, response)| Ok((path, answer(response)?)));
            answers.collect::<Result<_, String>>()
        };
        let pods = pods
            .into_iter()
            .map(|(pod, responses)| Ok((pod, answers(responses)?)));
        Ok(Backend {
            scheme,
            cert,
            script,
            pods: pods.collect::<Result<_, String>>()?,
        })
    }
}

impl Response {
    /// A number is a status.
    fn read(response: Value) -> Result<Response, String> {
        match response {
            Value::Number(status) => read(serde_json::json!({ "status": status })),
            response => read(response),
        }
    }

    fn answer(self) -> Result<Answer, String> {
        let headers = self.headers.iter().flat_map(|(name, value)| match value {
            Value::Array(values) => values
                .iter()
                .map(|value| (name.clone(), text(value)))
                .collect(),
            value => vec![(name.clone(), text(value))],
        });
        Ok(Answer {
            status: self.status.unwrap_or(200),
            headers: headers.collect(),
            body: self.body.as_ref().map(text),
            delay: seconds(self.delay_s)?,
        })
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn seconds(seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("delay_s {seconds}: {error}"))
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_stand_by_path_or_under_responses() {
        let answers = json!({"/a": {"status": 401, "headers": {"X": ["1", "2"]}}, "*": 204});
        let flat: Backend = serde_json::from_value(answers.clone()).unwrap();
        let nested: Backend = serde_json::from_value(json!({ "responses": answers })).unwrap();
        assert_eq!(flat, nested);
        assert_eq!(
            flat.script.answers["/a"].headers,
            [("X".into(), "1".into()), ("X".into(), "2".into())]
        );
        assert_eq!(flat.script.answers["*"].status, 204);
        let of_pod: Backend =
            serde_json::from_value(json!({"pods": {"echo-1": {"/healthz": 500}}})).unwrap();
        assert_eq!(of_pod.pods["echo-1"]["/healthz"].status, 500);
        assert!(of_pod.script.answers.is_empty());
    }

    #[test]
    fn failures_are_scripted_and_unknown_words_refused() {
        let backend: Backend =
            serde_json::from_value(json!({"fail_first": 2, "scheme": "https"})).unwrap();
        assert_eq!(
            (backend.script.fail_first, backend.scheme.as_deref()),
            (Some((2, 503)), Some("https"))
        );
        assert!(serde_json::from_value::<Backend>(json!({"speed": 1})).is_err());
        assert!(serde_json::from_value::<Backend>(json!({"*": {"colour": 1}})).is_err());
    }
}
