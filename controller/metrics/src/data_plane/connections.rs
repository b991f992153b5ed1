//! Connections and requests of clients, as nginx counts them.

use std::collections::BTreeMap;

use hyper::Method;
use sluice_dataplane::envoy::{self, admin};
use sluice_dataplane::nginx;

/// Envoy's two listeners, and of them only what is shown.
const ENVOY_STATS: &str = "/stats?filter=^http\\.https?\\.downstream_(cx|rq)_(total|active)$";

/// Connections and requests of clients, as `/nginx_status` shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// Since the start.
    pub accepted: u64,
    /// Of them those that were not closed at once.
    pub handled: u64,
    /// Requests since the start.
    pub requests: u64,
    /// Open now.
    pub active: u64,
    /// Of them those whose request header is read; Envoy does not count them.
    pub reading: u64,
    /// Of them those with a request that is answered.
    pub writing: u64,
    /// Of them those without a request. A connection of HTTP/2 may have several.
    pub waiting: u64,
}

impl Connections {
    /// Asks an Envoy.
    pub(super) async fn of_envoy(envoy: &envoy::Running) -> anyhow::Result<Self> {
        let stats = admin::call(&envoy.admin_socket, Method::GET, ENVOY_STATS).await?;
        Ok(Self::read_stats(&stats))
    }

    /// Asks an nginx; `None`: it has no such module.
    pub(super) async fn of_nginx(nginx: &nginx::Running) -> anyhow::Result<Option<Self>> {
        let status = nginx.stub_status().await?;
        Ok(status.as_deref().and_then(Self::read_stub_status))
    }

    fn read_stats(stats: &str) -> Self {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for line in stats.lines() {
            let Some((name, value)) = line.split_once(": ") else {
                continue;
            };
            let Some(name) = name.rsplit('.').next() else {
                continue;
            };
            *sums.entry(name).or_default() += value.parse::<u64>().unwrap_or_default();
        }
        let sum = |name| sums.get(name).copied().unwrap_or_default();
        let (accepted, active) = (sum("downstream_cx_total"), sum("downstream_cx_active"));
        let writing = sum("downstream_rq_active");
        Connections {
            accepted,
            handled: accepted,
            requests: sum("downstream_rq_total"),
            active,
            reading: 0,
            writing,
            waiting: active.saturating_sub(writing),
        }
    }

    /// `ngx_http_stub_status_module`: seven numbers in this order.
    fn read_stub_status(text: &str) -> Option<Self> {
        let words = text.split_ascii_whitespace();
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        let [
            active,
            accepted,
            handled,
            requests,
            reading,
            writing,
            waiting,
        ] = *numbers
        else {
            return None;
        };
        Some(Connections {
            accepted,
            handled,
            requests,
            active,
            reading,
            writing,
            waiting,
        })
    }

    /// In the format of nginx's stub_status, which scripts parse.
    #[must_use]
    pub fn stub_status(self) -> String {
        let Connections {
            accepted,
            handled,
            requests,
            active,
            reading,
            writing,
            waiting,
        } = self;
        format!(
            "Active connections: {active} \nserver accepts handled requests\n {accepted} {handled} {requests} \n\
             Reading: {reading} Writing: {writing} Waiting: {waiting} \n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_listeners_are_summed() {
        let stats = "http.http.downstream_cx_active: 3\nhttp.http.downstream_cx_total: 10\n\
                     http.https.downstream_cx_active: 2\nhttp.https.downstream_rq_active: 1\n\
                     http.https.downstream_rq_total: 7\nnonsense\n";
        let expected = Connections {
            accepted: 10,
            handled: 10,
            requests: 7,
            active: 5,
            reading: 0,
            writing: 1,
            waiting: 4,
        };
        assert_eq!(Connections::read_stats(stats), expected);
    }

    #[test]
    fn the_format_of_nginx_is_read_and_written() {
        // From nginx's documentation.
        let text = "Active connections: 291 \nserver accepts handled requests\n 16630948 16630949 31070465 \n\
                    Reading: 6 Writing: 179 Waiting: 106 \n";
        let read = Connections::read_stub_status(text).unwrap();
        assert_eq!((read.handled, read.waiting), (16_630_949, 106));
        assert_eq!(read.stub_status(), text);
        assert_eq!(Connections::read_stub_status("<html>404</html>"), None);
    }
}
