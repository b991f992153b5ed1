//! Backends: endpoints and how to choose among them.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU32};

use serde::{Deserialize, Serialize};

use crate::{Affinity, LoadBalance, Outlier};

/// One service port: its endpoints and how to choose among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    /// The name that ingress-nginx gives it, `namespace-service-port`: session cookies are salted with it, and a cookie
    /// that ingress-nginx issued stays valid.
    pub name: String,
    /// The algorithm, for requests without a session.
    pub load_balance: LoadBalance,
    /// Sessions. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Seconds in which an endpoint that joins grows to its full share. Absent: it has it at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_start: Option<NonZeroU32>,
    /// When an endpoint is left out for its failures. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlier: Option<Outlier>,
    /// Endpoints of the data plane's own zone come first; the others serve when there is none.
    #[serde(default, skip_serializing_if = "is_off")]
    pub prefer_zone: bool,
    /// How many candidates to name: the first attempt and every retry of the data plane.
    pub attempts: NonZeroU8,
    /// Empty means 503.
    pub endpoints: Vec<Endpoint>,
}

/// One pod, as the data plane reaches it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// `ip:port`, IPv6 in brackets.
    pub address: String,
    /// Its share, relative to the others. Absent: 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: NonZeroU16,
    /// The zones that it is near to: the one it runs in, or those that it is meant for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// It terminates: it serves the sessions it has and gets nothing else.
    #[serde(default, skip_serializing_if = "is_off")]
    pub draining: bool,
    /// It gets requests only when no other endpoint may be chosen.
    #[serde(default, skip_serializing_if = "is_off")]
    pub backup: bool,
    /// It fails the controller's health checks: it is left out as one that is ejected.
    #[serde(default, skip_serializing_if = "is_off")]
    pub unhealthy: bool,
}

impl Backend {
    /// Plain round robin, one attempt, nothing else.
    pub fn round_robin(name: impl Into<String>, endpoints: Vec<Endpoint>) -> Self {
        Backend {
            name: name.into(),
            load_balance: LoadBalance::default(),
            affinity: None,
            slow_start: None,
            outlier: None,
            prefer_zone: false,
            attempts: NonZeroU8::MIN,
            endpoints,
        }
    }
}

impl Endpoint {
    /// An endpoint of weight one, nowhere in particular.
    pub fn at(address: impl Into<String>) -> Self {
        Endpoint {
            address: address.into(),
            weight: NonZeroU16::MIN,
            zones: Vec::new(),
            draining: false,
            backup: false,
            unhealthy: false,
        }
    }
}

fn one() -> NonZeroU16 {
    NonZeroU16::MIN
}

fn is_one(weight: &NonZeroU16) -> bool {
    *weight == NonZeroU16::MIN
}

fn is_off(flag: &bool) -> bool {
    !flag
}
