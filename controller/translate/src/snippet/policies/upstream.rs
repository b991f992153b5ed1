//! Directives that have annotations of the same name, which ingress-nginx writes only where the annotation is set.
//!
//! ```text
//!   limit_rate, limit_rate_after    bandwidth of one response, and how much comes before that
//!   proxy_ssl_name a.test       name of pods over TLS ...
//!   proxy_ssl_server_name on    ... which they are told
//!   proxy_ssl_protocols, _ciphers   versions and ciphers that they are offered
//!   limit_req_status 429        status of requests beyond a limit that annotations set
//!   grpc_next_upstream error    pods that are tried where they speak gRPC
//! ```

use std::num::{NonZeroU8, NonZeroU32};

use sluice_ir::{Hostname, Policy, RetryOn, TlsVersions};
use sluice_syntax::settings::retries::{conditions, time_limit, tries};
use sluice_syntax::settings::tls::tls_versions;
use sluice_syntax::value;

use super::bandwidth::Bandwidth;
use crate::limit_status::{connection_status, request_status};
use crate::snippet::difference::Difference;
use crate::snippet::syntax::reserved_variables::bare;
use crate::support::DataPlane;

/// Names of these directives.
pub(in crate::snippet) const DIRECTIVES: [&str; 12] = [
    "grpc_buffer_size",
    "grpc_next_upstream",
    "grpc_next_upstream_timeout",
    "grpc_next_upstream_tries",
    "limit_conn_status",
    "limit_rate",
    "limit_rate_after",
    "limit_req_status",
    "proxy_ssl_ciphers",
    "proxy_ssl_name",
    "proxy_ssl_protocols",
    "proxy_ssl_server_name",
];
/// Prefix of those that are for pods that speak gRPC.
const OF_GRPC: &str = "grpc_";

/// Host of ingress-nginx's `proxy_pass`, which pods are told where no other is said.
pub(super) const UPSTREAM: &str = "upstream_balancer";
const KIB: u64 = 1024;
/// Bytes that nginx has for a part of a response of gRPC.
const GRPC_BUFFER: u64 = 64 * KIB;

/// Settings of a snippet for responses and for connections to pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upstream {
    pub(crate) bandwidth: Bandwidth,
    /// SNI.
    pub(crate) server_name: Option<String>,
    /// Versions of TLS.
    pub(crate) versions: Option<TlsVersions>,
    /// Ciphers of TLS 1.2, as they are written.
    pub(crate) ciphers: Option<String>,
    /// Status beyond a rate of requests.
    request_status: Option<u16>,
    /// Status beyond a number of concurrent requests.
    connection_status: Option<u16>,
    /// Failures after which another pod is tried.
    retry_on: Option<RetryOn>,
    attempts: Option<NonZeroU8>,
    /// Seconds in which that happens, if limited.
    retry_time: Option<Option<NonZeroU32>>,
}

impl Upstream {
    /// In place of what annotations and the ConfigMap say.
    pub(crate) fn apply_to(&self, policy: &mut Policy) {
        self.bandwidth.apply_to(policy);
        if let Some(limits) = &mut policy.limits {
            limits.status = self.request_status.unwrap_or(limits.status);
            if let (Some(limit), Some(status)) = (&mut limits.connections, self.connection_status) {
                limit.status = status;
            }
        }
        let retries = &mut policy.retries;
        if let Some(on) = &self.retry_on {
            retries.on.clone_from(on);
        }
        retries.attempts = self.attempts.unwrap_or(retries.attempts);
        retries.timeout = self.retry_time.unwrap_or(retries.timeout);
    }
}

/// Settings that decide about them.
#[derive(Clone, Copy)]
pub(in crate::snippet) struct UpstreamOptions<'a> {
    /// All hosts that they are for, where they are known.
    pub(in crate::snippet) hosts: Option<&'a [Hostname]>,
    /// Pods are spoken to in gRPC.
    pub(in crate::snippet) speaks_grpc: bool,
    /// `None`: several.
    pub(in crate::snippet) data_plane: Option<DataPlane>,
}

/// [`Upstream`] in the making. nginx takes no directive twice.
#[derive(Clone, Debug, Default)]
pub(in crate::snippet) struct UpstreamDirectives {
    said: Upstream,
    sends_name: Option<bool>,
    grpc_buffer: Option<u64>,
}

impl UpstreamDirectives {
    /// Takes one directive. `None`: it is none of these.
    pub(in crate::snippet) fn add(
        &mut self,
        words: &[&str],
        options: UpstreamOptions<'_>,
    ) -> Option<()> {
        let said = &mut self.said;
        let is_first = match *words {
            [name, ..] if name.starts_with(OF_GRPC) && !options.speaks_grpc => true,
            ["grpc_buffer_size", size] => {
                let size = value::size(size).ok()?;
                self.grpc_buffer.replace(size).is_none()
            }
            ["grpc_next_upstream", ref on @ ..] if !on.is_empty() => {
                let on = conditions(&on.join(" ")).ok()?;
                said.retry_on.replace(on).is_none()
            }
            ["grpc_next_upstream_tries", number] => {
                said.attempts.replace(tries(number).ok()?).is_none()
            }
            ["grpc_next_upstream_timeout", time] => {
                let time = time_limit(time.strip_suffix('s').unwrap_or(time)).ok()?;
                said.retry_time.replace(time).is_none()
            }
            ["limit_req_status", status] => {
                let status = request_status(status, options.data_plane).ok()?;
                said.request_status.replace(status).is_none()
            }
            ["limit_conn_status", status] => {
                let status = connection_status(status).ok()?;
                said.connection_status.replace(status).is_none()
            }
            ["proxy_ssl_name", name] => {
                let name = server_name(name, options.hosts)?;
                said.server_name.replace(name).is_none()
            }
            ["proxy_ssl_protocols", ref versions @ ..] if !versions.is_empty() => {
                let versions = tls_versions(&versions.join(" ")).ok()?;
                said.versions.replace(versions).is_none()
            }
            ["proxy_ssl_ciphers", ciphers] if !ciphers.contains('$') => {
                said.ciphers.replace(ciphers.to_owned()).is_none()
            }
            ["proxy_ssl_server_name", "on"] => self.sends_name.replace(true).is_none(),
            ["proxy_ssl_server_name", "off"] => self.sends_name.replace(false).is_none(),
            _ => said.bandwidth.add(words)?,
        };
        is_first.then_some(())
    }

    pub(in crate::snippet) fn finish(self) -> Upstream {
        let name = self.said.server_name;
        let name = || name.unwrap_or_else(|| UPSTREAM.to_owned());
        Upstream {
            server_name: self.sends_name.unwrap_or_default().then(name),
            ..self.said
        }
    }

    /// Differences of a data plane. `None`: several.
    pub(in crate::snippet) fn differences(
        &self,
        data_plane: Option<DataPlane>,
    ) -> impl Iterator<Item = Difference> + use<> {
        let has_time = self.said.retry_time.flatten().is_some();
        let is_on_envoy = data_plane != Some(DataPlane::Nginx);
        let is_delayed = self.said.bandwidth.begins_later();
        let of_nginx = self.grpc_buffer.is_some_and(|size| size != GRPC_BUFFER)
            && data_plane != Some(DataPlane::Envoy);
        [
            (has_time && is_on_envoy).then_some(Difference::RetryTime),
            (is_delayed && is_on_envoy).then_some(Difference::RateAfter),
            of_nginx.then_some(Difference::GrpcBuffer),
        ]
        .into_iter()
        .flatten()
    }
}

/// Difference of a directive of a server, which locations inherit in nginx.
pub(in crate::snippet) fn difference_of_server(words: &[&str]) -> Option<Difference> {
    match words {
        ["grpc_next_upstream", _, ..]
        | ["grpc_next_upstream_timeout" | "grpc_next_upstream_tries", _] => {
            Some(Difference::GrpcRetries)
        }
        ["grpc_buffer_size", _] => Some(Difference::GrpcBuffer),
        _ => None,
    }
}

/// A name, or that of the only host. With several, connections to pods would have to be told apart by it.
fn server_name(name: &str, hosts: Option<&[Hostname]>) -> Option<String> {
    let host = match (bare(name).as_str(), hosts) {
        ("$host", Some([host])) => host.clone(),
        _ => Hostname::parse(name).ok()?,
    };
    Some(host.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use sluice_ir::{ClientLimits, ConnectionLimit};

    use super::*;

    fn read(directives: &[&str]) -> Option<Upstream> {
        read_for(directives, None)
    }

    fn read_for(directives: &[&str], hosts: Option<&[Hostname]>) -> Option<Upstream> {
        let options = UpstreamOptions {
            hosts,
            speaks_grpc: true,
            data_plane: None,
        };
        read_with(directives, options).map(UpstreamDirectives::finish)
    }

    fn read_with(directives: &[&str], options: UpstreamOptions<'_>) -> Option<UpstreamDirectives> {
        let mut upstream = UpstreamDirectives::default();
        for directive in directives {
            let words: Vec<&str> = directive.split(' ').collect();
            upstream.add(&words, options)?;
        }
        Some(upstream)
    }

    fn limited() -> Policy {
        let limits = ClientLimits {
            status: 503,
            connections: Some(ConnectionLimit {
                max: NonZeroU32::MIN,
                status: 503,
            }),
            ..ClientLimits::default()
        };
        Policy {
            limits: Some(limits),
            ..Policy::default()
        }
    }

    #[test]
    fn statuses_are_those_of_limits_that_annotations_set() {
        let mut policy = limited();
        let statuses = ["limit_req_status 429", "limit_conn_status 420"];
        read(&statuses).unwrap().apply_to(&mut policy);
        let limits = policy.limits.unwrap();
        assert_eq!(
            (limits.status, limits.connections.unwrap().status),
            (429, 420)
        );
        let mut unlimited = Policy::default();
        read(&statuses).unwrap().apply_to(&mut unlimited);
        assert_eq!(unlimited, Policy::default());
        for bad in [
            "limit_req_status 200",
            "limit_req_status 444",
            "limit_req_status +429",
            "limit_conn_status 600",
            "limit_conn_status $a",
        ] {
            assert_eq!(read(&[bad]), None, "{bad}");
        }
    }

    #[test]
    fn pods_of_grpc_are_tried_again_as_written() {
        let mut policy = Policy::default();
        let directives = [
            "grpc_next_upstream error http_503 non_idempotent",
            "grpc_next_upstream_tries 5",
            "grpc_next_upstream_timeout 10s",
            "grpc_buffer_size 64000k",
        ];
        let options = |speaks_grpc, data_plane| UpstreamOptions {
            hosts: None,
            speaks_grpc,
            data_plane,
        };
        let several = read_with(&directives, options(true, None)).unwrap();
        let differences: Vec<_> = several.differences(None).collect();
        assert_eq!(differences, [Difference::RetryTime, Difference::GrpcBuffer]);
        let on_nginx: Vec<_> = several.differences(Some(DataPlane::Nginx)).collect();
        assert_eq!(on_nginx, [Difference::GrpcBuffer]);
        several.finish().apply_to(&mut policy);
        let retries = &policy.retries;
        assert!(retries.on.non_idempotent && !retries.on.timeout);
        assert_eq!(retries.attempts.get(), 5);
        assert_eq!(retries.timeout, NonZeroU32::new(10));
        let of_http = read_with(&directives, options(false, None)).unwrap();
        assert_eq!(of_http.finish(), Upstream::default());
        for bad in ["grpc_next_upstream maybe", "grpc_next_upstream_tries -1"] {
            assert_eq!(read(&[bad]), None, "{bad}");
        }
    }

    #[test]
    fn pods_are_told_a_name_where_it_is_switched_on() {
        let name = |directives| read(directives).unwrap().server_name;
        let named = ["proxy_ssl_name Pods.Test", "proxy_ssl_server_name on"];
        assert_eq!(name(&named), Some("pods.test".to_owned()));
        assert_eq!(name(&named[1..]), Some(UPSTREAM.to_owned()));
        for silent in [
            &named[..1],
            &["proxy_ssl_name a.test", "proxy_ssl_server_name off"],
        ] {
            assert_eq!(read(silent), Some(Upstream::default()));
        }
    }

    #[test]
    fn pods_are_offered_what_is_written() {
        let both = [
            "proxy_ssl_protocols TLSv1.1 TLSv1.3",
            "proxy_ssl_ciphers HIGH:!aNULL",
        ];
        let upstream = read(&both).unwrap();
        let versions = TlsVersions {
            v1_2: false,
            v1_3: true,
        };
        assert_eq!(upstream.versions, Some(versions));
        assert_eq!(upstream.ciphers.as_deref(), Some("HIGH:!aNULL"));
        for bad in [
            &["proxy_ssl_protocols TLSv1.1"][..],
            &["proxy_ssl_protocols"],
            &["proxy_ssl_protocols $a"],
            &["proxy_ssl_ciphers $a"],
            &["proxy_ssl_ciphers a b"],
            &["proxy_ssl_ciphers a", "proxy_ssl_ciphers a"],
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_variable_is_the_only_host() {
        let hosts = ["a.test", "b.test"].map(|name| Hostname::parse(name).unwrap());
        for name in ["$host", "${host}"] {
            let name = format!("proxy_ssl_name {name}");
            let directives = [name.as_str(), "proxy_ssl_server_name on"];
            let upstream = read_for(&directives, Some(&hosts[..1])).unwrap();
            assert_eq!(upstream.server_name.as_deref(), Some("a.test"));
            assert_eq!(read_for(&directives, Some(&hosts)), None);
            assert_eq!(read_for(&directives, Some(&[])), None);
            assert_eq!(read_for(&directives, None), None);
        }
        assert_eq!(
            read_for(&["proxy_ssl_name $http_host"], Some(&hosts[..1])),
            None
        );
    }

    #[test]
    fn a_rate_may_begin_later() {
        let rate = read(&["limit_rate 100k", "limit_rate_after 1m"]).unwrap();
        assert_eq!(rate.bandwidth.after, Some(1024));
        let options = UpstreamOptions {
            hosts: None,
            speaks_grpc: false,
            data_plane: None,
        };
        let differs = |directive, data_plane| {
            let said = read_with(&[directive], options).unwrap();
            said.differences(data_plane).collect::<Vec<_>>()
        };
        let after = "limit_rate_after 1m";
        assert_eq!(differs(after, None), [Difference::RateAfter]);
        assert_eq!(differs(after, Some(DataPlane::Nginx)), []);
        assert_eq!(differs("limit_rate_after 0", None), []);
        for bad in [
            &["limit_rate 1000"][..],
            &["limit_rate_after 1k", "limit_rate_after 1k"],
            &["proxy_ssl_name $proxy_host"],
            &["proxy_ssl_server_name maybe"],
            &["proxy_ssl_verify on"],
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }
}
