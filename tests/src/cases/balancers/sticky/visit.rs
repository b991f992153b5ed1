//! Clients with and without a session.

use sluice_filter_config::AffinityMode;
use sluice_filter_core::affinity::{backend_key, endpoint_key};

use super::super::site::{PRIMARY, Sent, Site, request};
use super::words::Given;
use crate::fake::{Personality, ROUTE};

/// A request of a client, and who could answer it.
pub(super) struct Visit {
    pub(super) pick: String,
    /// Cookies that the response sets when the endpoint is picked.
    pub(super) cookies: Vec<String>,
    /// Seconds of the host's clock.
    pub(super) now: u64,
}

/// One request with this cookie header, answered by the first candidate.
pub(super) fn visit(site: &mut Site, given: &Given, cookie: Option<&str>) -> Visit {
    let sent = send(site, given, cookie);
    let (pick, now) = (sent.pick(), site.filter.host().now.as_secs());
    let cookies = if pick.is_empty() {
        Vec::new()
    } else {
        site.respond(&sent, &pick)
    };
    site.end(&sent);
    Visit { pick, cookies, now }
}

/// A request that stays open.
pub(super) fn send(site: &mut Site, given: &Given, cookie: Option<&str>) -> Sent {
    let agent = given
        .request
        .user_agent
        .as_deref()
        .map(|agent| ("user-agent", agent));
    let headers: Vec<(&str, &str)> = agent
        .into_iter()
        .chain(cookie.map(|cookie| ("cookie", cookie)))
        .collect();
    let mut request = request(&headers);
    if given.request.is_https {
        let (path, value) = match site.filter.host().personality {
            Personality::Envoy => ("connection\0tls_version", "TLSv1.3"),
            Personality::Nginx => ("ngx.https", "on"),
        };
        request.properties.insert(path.into(), value.into());
    }
    site.send_request(Some(ROUTE), request)
}

/// A cookie header with this value.
pub(super) fn header(site: &Site, value: &str) -> String {
    let affinity = site
        .backends
        .get(PRIMARY)
        .and_then(|backend| backend.affinity.as_ref());
    format!(
        "{}={value}",
        affinity.map_or("route", |affinity| affinity.cookie.name.as_str())
    )
}

/// The value of a cookie of this backend with an upstream key.
pub(super) fn value(site: &Site, upstream_key: &str) -> String {
    let name = site
        .backends
        .get(PRIMARY)
        .map_or("", |backend| backend.name.as_str());
    format!(
        "{upstream_key}|{}",
        String::from_utf8_lossy(&backend_key(name))
    )
}

/// A key that leads to an endpoint: in balanced mode the first of many texts that does.
pub(super) fn key_of(
    site: &mut Site,
    given: &Given,
    mode: AffinityMode,
    address: &str,
) -> Option<String> {
    if mode == AffinityMode::Persistent {
        let name = site.backends.get(PRIMARY)?.name.clone();
        return Some(String::from_utf8_lossy(&endpoint_key(&name, address)).into_owned());
    }
    (0..1000).map(|n| format!("key-{n}")).find(|key| {
        let cookie = header(site, &value(site, key));
        visit(site, given, Some(&cookie)).pick == address
    })
}
