//! The words of these areas.

use serde::Deserialize;
use serde_json::Value;
use sluice_filter_config::{self as wire, AffinityMode, Route};

use super::super::case::{Cannot, some};
use super::super::endpoint::{Endpoint, addresses, on_the_wire};
use super::super::original::Backend;
use super::super::site::{PRIMARY, Site};
use crate::fake::Personality;

/// The backend of cases that name none.
const NAME: &str = "access-router-production-web-80";
const ENDPOINT: &str = "10.184.7.40:8080";
/// Default path of the first request of a session.
const PATH: &str = "/";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub(super) struct Given {
    backend: Option<Backend>,
    pub(super) request: Asked,
    endpoints: Vec<Endpoint>,
    /// The upstream key of the client's cookie.
    pub(super) cookie_key: Option<String>,
    /// `for ip:port`
    pub(super) cookie: Option<String>,
    pub(super) tried_and_failed: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub(super) struct Asked {
    host: Option<String>,
    location: Option<String>,
    server_name: Option<String>,
    #[serde(rename = "https")]
    pub(super) is_https: bool,
    pub(super) user_agent: Option<String>,
    pub(super) cookie: Option<String>,
    pub(super) cookie_value: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Then {
    #[serde(default, deserialize_with = "some")]
    pub(super) backend_key: Option<Value>,
    #[serde(default, deserialize_with = "some")]
    pub(super) upstream_key: Option<Value>,
    pub(super) affinitized: Option<bool>,
    pub(super) pick: Option<String>,
    #[serde(default, deserialize_with = "some")]
    pub(super) set_cookie: Option<Value>,
}

impl Given {
    /// The backend, with an affinity of this mode.
    pub(super) fn primary(&self, mode: AffinityMode) -> Result<wire::Backend, Cannot> {
        let original = self.backend.clone().unwrap_or_default();
        let mut primary = original.on_the_wire()?;
        if original.name.is_none() {
            primary.name = NAME.into();
        }
        if primary.endpoints.is_empty() {
            let given = addresses(&self.endpoints);
            primary.endpoints = on_the_wire(&if given.is_empty() {
                vec![ENDPOINT.to_owned()]
            } else {
                given
            });
        }
        let other = wire::Affinity {
            mode,
            cookie: wire::Cookie {
                name: "route".into(),
                ..wire::Cookie::default()
            },
            change_on_failure: false,
        };
        let affinity = primary.affinity.get_or_insert(other);
        if affinity.mode != mode {
            return Err(Cannot(format!(
                "given.backend: the mode is not that of the area, {mode:?}"
            )));
        }
        Ok(primary)
    }

    /// A location that leads there. Sessions begin on it at this path.
    pub(super) fn site(
        &self,
        personality: Personality,
        mode: AffinityMode,
        session_path: Option<String>,
    ) -> Result<Site, Cannot> {
        let location = Route {
            session_path,
            ..Route::to(PRIMARY)
        };
        Ok(Site::with(
            personality,
            location,
            [(PRIMARY.to_owned(), self.primary(mode)?)].into(),
        ))
    }

    /// A path where sessions begin, for what needs one whatever the case lists.
    pub(super) fn any_path() -> Option<String> {
        Some(PATH.to_owned())
    }

    /// The path of the location that takes the request, when the original's list has it: data planes match the host
    /// exactly, then by a wildcard for one label, then by the catch-all.
    pub(super) fn listed_path(&self) -> Option<String> {
        let Asked {
            host,
            location,
            server_name,
            ..
        } = &self.request;
        let locations = &self.backend.as_ref()?.affinity.cookie.locations;
        let first = locations.iter().next();
        let host = host.as_ref().or(first.map(|(host, _)| host))?;
        let path = location
            .as_ref()
            .or(first.and_then(|(_, paths)| paths.first()))?;
        let wildcard = host.split_once('.').map(|(_, rest)| format!("*.{rest}"));
        let paths = match server_name.as_deref() {
            Some("_") => locations.get("_"),
            _ => locations.get(host).or_else(|| locations.get(&wildcard?)),
        };
        paths?.contains(path).then(|| path.clone())
    }
}
