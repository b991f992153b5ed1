//! A backend in the words of ingress-nginx's controller, and what they are in the filter's configuration.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use serde::Deserialize;
use serde_json::Value;
use sluice_filter_config as wire;

use super::case::Cannot;
use super::endpoint::{Endpoint, addresses};
use super::site::backend;

/// A backend as the original posts it to its balancers, as far as the cases describe it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Backend {
    pub(super) name: Option<String>,
    pub(super) endpoints: Option<Vec<Endpoint>>,
    #[serde(rename = "load-balance")]
    pub(super) load_balance: Option<String>,
    #[serde(rename = "upstreamHashByConfig")]
    pub(super) hash_by: HashBy,
    #[serde(rename = "sessionAffinityConfig")]
    pub(super) affinity: SessionAffinity,
    #[serde(rename = "alternativeBackends")]
    pub(super) alternatives: Option<Vec<String>>,
    #[serde(rename = "trafficShapingPolicy")]
    pub(super) policy: Option<TrafficShaping>,
    pub(super) service: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HashBy {
    #[serde(rename = "upstream-hash-by")]
    pub(super) expression: Option<String>,
    #[serde(rename = "upstream-hash-by-subset")]
    pub(super) subset: bool,
    #[serde(rename = "upstream-hash-by-subset-size")]
    pub(super) size: Option<u16>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SessionAffinity {
    pub(super) name: String,
    pub(super) mode: String,
    #[serde(rename = "cookieSessionAffinity")]
    pub(super) cookie: Cookie,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Cookie {
    pub(super) name: String,
    expires: Option<String>,
    maxage: Option<String>,
    /// Paths by host.
    pub(super) locations: BTreeMap<String, Vec<String>>,
    secure: Option<bool>,
    path: Option<String>,
    domain: Option<String>,
    samesite: Option<String>,
    conditional_samesite_none: bool,
    change_on_failure: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(super) struct TrafficShaping {
    pub(super) weight: u32,
    weight_total: u32,
    header: String,
    header_value: String,
    header_pattern: String,
    cookie: String,
}

impl Backend {
    /// The backend in the filter's configuration.
    pub(super) fn on_the_wire(&self) -> Result<wire::Backend, Cannot> {
        let name = self.name.as_deref().unwrap_or("my-dummy-backend");
        let endpoints = addresses(self.endpoints.as_deref().unwrap_or_default());
        Ok(wire::Backend {
            load_balance: self.load_balance()?,
            affinity: self.affinity.on_the_wire()?,
            ..backend(name, &endpoints)
        })
    }

    /// Its hash key.
    pub(super) fn hash_key(&self) -> wire::HashKey {
        wire::HashKey::parse(self.hash_by.expression.as_deref().unwrap_or_default()).0
    }

    fn load_balance(&self) -> Result<wire::LoadBalance, Cannot> {
        let key = || self.hash_key();
        match (&self.hash_by, self.load_balance.as_deref()) {
            (
                HashBy {
                    expression: Some(_),
                    subset: true,
                    size,
                },
                _,
            ) => {
                let size = size
                    .and_then(NonZeroU16::new)
                    .or(NonZeroU16::new(3))
                    .unwrap_or(NonZeroU16::MIN);
                Ok(wire::LoadBalance::chash_subset(key(), size))
            }
            (
                HashBy {
                    expression: Some(_),
                    ..
                },
                _,
            ) => Ok(wire::LoadBalance::chash(key())),
            (_, None | Some("" | "round_robin")) => Ok(wire::LoadBalance::round_robin()),
            (_, Some("ewma")) => Ok(wire::LoadBalance::named("ewma")),
            (_, Some(other)) => Err(Cannot(format!(
                "load-balance: no filter is told of {other:?}"
            ))),
        }
    }
}

impl SessionAffinity {
    /// The affinity, where there is one.
    pub(super) fn on_the_wire(&self) -> Result<Option<wire::Affinity>, Cannot> {
        if self.name != "cookie" {
            return Ok(None);
        }
        let mode = match self.mode.as_str() {
            "persistent" => wire::AffinityMode::Persistent,
            _ => wire::AffinityMode::Balanced,
        };
        let cookie = self.cookie.on_the_wire()?;
        Ok(Some(wire::Affinity {
            mode,
            cookie,
            change_on_failure: self.cookie.change_on_failure,
        }))
    }
}

impl Cookie {
    fn on_the_wire(&self) -> Result<wire::Cookie, Cannot> {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let seconds = |word: &str, text: &Option<String>| match filled(text) {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|_| {
                Cannot(format!(
                    "cookieSessionAffinity.{word}: expected seconds, got {text:?}"
                ))
            }),
        };
        let same_site = match filled(&self.samesite).as_deref() {
            Some("None") => Some(wire::SameSite::None),
            Some("Lax") => Some(wire::SameSite::Lax),
            Some("Strict") => Some(wire::SameSite::Strict),
            // As in the original, any other value is none.
            _ => None,
        };
        Ok(wire::Cookie {
            name: self.name.clone(),
            expires: seconds("expires", &self.expires)?,
            max_age: seconds("maxage", &self.maxage)?,
            path: filled(&self.path),
            domain: filled(&self.domain),
            secure: self.secure,
            same_site,
            conditional_same_site_none: self.conditional_samesite_none,
        })
    }
}

impl TrafficShaping {
    /// The same with another weight.
    pub(super) fn with_weight(&self, weight: u32) -> TrafficShaping {
        TrafficShaping {
            weight,
            ..self.clone()
        }
    }

    /// The canary of a route.
    pub(super) fn on_the_wire(&self, backend: &str) -> wire::Canary {
        let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let values = match (filled(&self.header_value), filled(&self.header_pattern)) {
            (Some(value), _) => wire::HeaderMatch::Exact(value),
            (None, Some(pattern)) => wire::HeaderMatch::Pattern(pattern),
            (None, None) => wire::HeaderMatch::Switch,
        };
        wire::Canary {
            header: filled(&self.header).map(|name| wire::HeaderRule { name, values }),
            cookie: filled(&self.cookie),
            weight: Some(wire::Share {
                weight: self.weight,
                total: self.weight_total,
            }),
            backend: backend.to_owned(),
            ..wire::Canary::default()
        }
    }
}
