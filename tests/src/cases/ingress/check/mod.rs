//! Checks of expectations. Each function returns the differences, in words.

mod answer;
mod cookie;
mod spread;
mod upstream;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::expect;
use super::pods::Pods;
use super::then::Then;
use super::traffic::Exchange;
use crate::echo::Received;

pub use cookie::find as find_cookie;

/// The observations of a check.
pub struct Observed<'a> {
    /// Requests and answers.
    pub exchanges: &'a [Exchange],
    /// Requests that pods received meanwhile, except those of the auth service.
    pub received: Vec<Received>,
    /// Requests that the auth service received.
    pub auth: Vec<Received>,
    /// How long it took.
    pub elapsed: Duration,
    /// The pod of before: the kept cookie's, or the last one.
    pub before: Option<String>,
    /// The pods that the data plane has as endpoints, when the check asks for them.
    pub endpoints: BTreeSet<String>,
    /// The pods there are.
    pub pods: &'a Pods,
    /// How ports look from outside.
    pub ports: &'a PublicPorts,
}

/// The data plane listens where there is room; cases speak of the ports that a deployment has.
#[derive(Clone, Debug, Default)]
pub struct PublicPorts(Vec<(u16, String)>);

impl PublicPorts {
    /// Pairs of a reserved port and the one that it stands for.
    pub fn new(pairs: Vec<(u16, String)>) -> PublicPorts {
        PublicPorts(pairs)
    }

    /// A value with the ports of a deployment.
    pub fn publish(&self, value: &str) -> String {
        let mut text = value.to_owned();
        for (reserved, public) in &self.0 {
            if text == reserved.to_string() {
                return public.clone();
            }
            text = text.replace(&format!(":{reserved}"), &format!(":{public}"));
        }
        text
    }
}

impl Observed<'_> {
    /// The reasons against what was expected of requests.
    ///
    /// # Errors
    /// When an expectation cannot be read.
    pub fn against(&self, then: &Then) -> Result<Vec<String>, String> {
        let mut reasons = Vec::new();
        self.answers(then, &mut reasons)?;
        self.cookies(then, &mut reasons);
        self.spread(then, &mut reasons)?;
        self.upstream(then, &mut reasons)?;
        if let Some(expected) = &then.elapsed_s {
            let seconds = self.elapsed.as_secs_f64();
            if !expect::number(expected, seconds, seconds)? {
                reasons.push(format!("elapsed_s: expected {expected}, took {seconds:.2}"));
            }
        }
        Ok(reasons)
    }

    /// The service of an answer's pod.
    fn service_of(&self, pod: &str) -> String {
        let received = self.received.iter().find(|received| received.pod == pod);
        // A pod's name is its service's, with a number.
        let from_name = || {
            pod.rsplit_once('-')
                .map_or(pod, |(service, _)| service)
                .to_owned()
        };
        received.map_or_else(from_name, |received| received.service.clone())
    }
}

/// Text, without the quotes of a JSON string.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// One text or several.
pub fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .map_or_else(|| vec![plain(value)], |all| all.iter().map(plain).collect())
}

/// Reasons that hold for several answers are said once.
fn push_once(reasons: &mut Vec<String>, reason: String) {
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}

fn shown(value: Option<&str>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:?}"))
}
