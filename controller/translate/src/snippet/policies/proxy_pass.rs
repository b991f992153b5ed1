//! `proxy_pass` in a `location` of a `server-snippet`: to pods of a path of the same Ingress.
//!
//! ```text
//!   proxy_pass http://SERVICE.NAMESPACE.svc.cluster.local:8080;          the Service and the port that a path names
//!   proxy_pass http://SERVICE.NAMESPACE.svc.cluster.local:8080/new/;     with this in place of the location's own path
//!   proxy_pass https://SERVICE.NAMESPACE.svc.cluster.local;              over TLS, as the path does
//!   rewrite ^/old/(.*)$ /$1 break;                                       the path for pods, in place of that of the URL
//!   set $proxy_upstream_name NAMESPACE-SERVICE-80;                       the same by ingress-nginx's name of it ...
//!   proxy_pass http://upstream_balancer;                                 ... as its balancer takes it
//! ```

use sluice_ir::{
    Expression, PathRegex, PathRewrite, Policy, RegexScope, RetryOn, Template, TemplatePart,
};
use sluice_syntax::settings::retries::conditions;
use sluice_syntax::{path, value};
use sluice_translate_engine::{ObjectKey, Port, UpstreamUrl};

use super::bandwidth::Bandwidth;
use super::upstream::UPSTREAM;
use crate::snippet::locations::LocationPath;
use crate::snippet::rewrite::rewrites::PathChange;
use crate::snippet::syntax::reserved_variables::bare;
use crate::snippet::syntax::time::timeout;

const UPSTREAM_NAME: &str = "$proxy_upstream_name";
/// Group of what follows the location's own path, with ends of lines in it.
pub(crate) const REST: &str = r"([\s\S]*)";

/// Pods of a location, and settings of requests to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProxyPass {
    pub(crate) upstream: ProxyUpstream,
    pub(crate) is_tls: bool,
    /// Paths that have groups for the rewrite.
    pub(crate) groups: Option<PathRegex>,
    pub(crate) rewrite: Option<PathRewrite>,
    /// In place of the rewrite where they change something.
    pub(crate) path_changes: Vec<PathChange>,
    /// `Host` that pods get in place of the client's.
    pub(crate) host: Option<Expression>,
    /// Seconds.
    pub(crate) read_timeout: Option<u32>,
    pub(crate) send_timeout: Option<u32>,
    /// Bytes of a body; `Some(None)` is no limit.
    pub(crate) max_body_size: Option<Option<u64>>,
    pub(crate) request_buffering: Option<bool>,
    /// Failures after which another pod is tried.
    pub(crate) retry_on: Option<RetryOn>,
    pub(crate) bandwidth: Bandwidth,
}

impl ProxyPass {
    /// In place of what the ConfigMap says of all paths.
    pub(crate) fn apply_to(&self, policy: &mut Policy) {
        policy.host.clone_from(&self.host);
        policy.timeouts.read = self.read_timeout.unwrap_or(policy.timeouts.read);
        policy.timeouts.send = self.send_timeout.unwrap_or(policy.timeouts.send);
        policy.max_body_size = self.max_body_size.unwrap_or(policy.max_body_size);
        let buffering = &mut policy.buffering;
        buffering.request_buffering = self
            .request_buffering
            .unwrap_or(buffering.request_buffering);
        if let Some(on) = &self.retry_on {
            policy.retries.on.clone_from(on);
        }
        self.bandwidth.apply_to(policy);
    }
}

/// Upstream as a snippet names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProxyUpstream {
    Service(ObjectKey, Port),
    /// `NAMESPACE-SERVICE-PORT`
    Named(String),
}

/// [`ProxyPass`] in the making. nginx takes no directive twice.
#[derive(Clone, Debug, Default)]
pub(in crate::snippet) struct ProxyDirectives {
    url: Option<String>,
    name: Option<String>,
    tells_host: bool,
    read_timeout: Option<u32>,
    send_timeout: Option<u32>,
    /// Pods are connected to as other paths do.
    pub(in crate::snippet) has_connect_timeout: bool,
    max_body_size: Option<Option<u64>>,
    request_buffering: Option<bool>,
    retry_on: Option<RetryOn>,
    bandwidth: Bandwidth,
}

impl ProxyDirectives {
    /// True of a directive that belongs to `proxy_pass`.
    pub(in crate::snippet) fn know(words: &[&str]) -> bool {
        const NAMES: [&str; 10] = [
            "client_max_body_size",
            "limit_rate",
            "limit_rate_after",
            "proxy_connect_timeout",
            "proxy_next_upstream",
            "proxy_pass",
            "proxy_read_timeout",
            "proxy_redirect",
            "proxy_request_buffering",
            "proxy_send_timeout",
        ];
        match *words {
            ["set", variable, _] => bare(variable) == UPSTREAM_NAME,
            [name, ..] => NAMES.contains(&name),
            [] => false,
        }
    }

    /// Takes one directive. `None`: it is none of these.
    pub(in crate::snippet) fn add(&mut self, words: &[&str]) -> Option<()> {
        let is_first = match *words {
            ["proxy_pass", url] => self.url.replace(url.to_owned()).is_none(),
            ["set", variable, name] if bare(variable) == UPSTREAM_NAME => {
                self.name.replace(name.to_owned()).is_none()
            }
            ["proxy_read_timeout", time] => self.read_timeout.replace(timeout(time)?).is_none(),
            ["proxy_send_timeout", time] => self.send_timeout.replace(timeout(time)?).is_none(),
            ["proxy_connect_timeout", time] => {
                timeout(time)?;
                !std::mem::replace(&mut self.has_connect_timeout, true)
            }
            ["client_max_body_size", size] => {
                let size = value::size(size).ok()?;
                let limit = Some(size).filter(|size| *size > 0);
                self.max_body_size.replace(limit).is_none()
            }
            ["proxy_request_buffering", on] => {
                let on = value::on_off(on).ok()?;
                self.request_buffering.replace(on).is_none()
            }
            ["proxy_next_upstream", ref on @ ..] if !on.is_empty() => {
                let on = conditions(&on.join(" ")).ok()?;
                self.retry_on.replace(on).is_none()
            }
            ["proxy_redirect", "off"] => true,
            _ => self.bandwidth.add(words)?,
        };
        is_first.then_some(())
    }

    /// True if `limit_rate_after` has an effect, which it has not on Envoy.
    pub(in crate::snippet) fn is_delayed(&self) -> bool {
        self.bandwidth.begins_later()
    }

    /// Sees what pods are told: nginx tells them the name of the upstream unless it is told another.
    pub(in crate::snippet) fn see(&mut self, words: &[&str]) {
        const OF_CLIENT: [&str; 3] = ["$host", "$http_host", "$best_http_host"];
        if let ["proxy_set_header", name, value] = *words
            && name.eq_ignore_ascii_case("host")
        {
            self.tells_host = OF_CLIENT.contains(&bare(value).as_str());
        }
    }

    /// `None`: it leads to nothing that can be known here.
    pub(in crate::snippet) fn finish(
        self,
        path: &LocationPath,
        path_changes: Vec<PathChange>,
    ) -> Option<ProxyPass> {
        let url = self.url?;
        let (url, is_as_sent) = match url.strip_suffix("$request_uri") {
            Some(url) => (url, true),
            None => (url.as_str(), false),
        };
        let (scheme, behind) = url.split_once("://")?;
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let (upstream, authority, rest) = match (behind, self.name) {
            (UPSTREAM, Some(name)) => (ProxyUpstream::Named(name), UPSTREAM.to_owned(), ""),
            (_, None) => {
                let (url, rest) = UpstreamUrl::read(url).ok()?;
                let (service, port) = url.service()?;
                (ProxyUpstream::Service(service, port), authority(&url), rest)
            }
            _ => return None,
        };
        // nginx would put it before the whole path as the client has sent it, encoded and with its dots, whatever that was changed to.
        if is_as_sent && !(rest.is_empty() && path_changes.is_empty()) {
            return None;
        }
        let (groups, rewrite) = rewrite(path, rest)?;
        Some(ProxyPass {
            upstream,
            is_tls,
            groups,
            rewrite,
            path_changes,
            host: (!self.tells_host).then(|| Expression::literal(&authority)),
            read_timeout: self.read_timeout,
            send_timeout: self.send_timeout,
            max_body_size: self.max_body_size,
            request_buffering: self.request_buffering,
            retry_on: self.retry_on,
            bandwidth: self.bandwidth,
        })
    }
}

fn authority(url: &UpstreamUrl) -> String {
    let host = url.host.as_str();
    match (url.tls, url.port) {
        (false, 80) | (true, 443) => host.to_owned(),
        (_, port) => format!("{host}:{port}"),
    }
}

/// The path of `proxy_pass` in place of what the location has compared. nginx takes none beside a pattern.
fn rewrite(location: &LocationPath, to: &str) -> Option<(Option<PathRegex>, Option<PathRewrite>)> {
    if to.is_empty() {
        return Some((None, None));
    }
    let is_path = to.starts_with('/') && !to.contains(['?', '#', '$', '%']);
    let full = to.to_owned();
    if !is_path || path::literal(to).is_err() {
        return None;
    }
    match location {
        LocationPath::Exact(_) => Some((None, Some(PathRewrite::Full { full }))),
        LocationPath::Prefix(text) | LocationPath::PrefixBeforePatterns(text) => {
            let escaped = sluice_pattern::escape(text);
            let regex = PathRegex {
                groups: 1,
                scope: RegexScope::Anywhere,
                ..PathRegex::plain(format!("^{escaped}{REST}"))
            };
            let template = vec![TemplatePart::Text(full), TemplatePart::Group(1)];
            let rewrite = PathRewrite::Template(Template(template));
            Some((Some(regex), Some(rewrite)))
        }
        LocationPath::Pattern(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn read(path: &[&str], directives: &[&str]) -> Option<ProxyPass> {
        let mut all = ProxyDirectives::default();
        for directive in directives {
            let words: Vec<&str> = directive.split(' ').collect();
            all.see(&words);
            if words[0] != "proxy_set_header" {
                all.add(&words)?;
            }
        }
        all.finish(&LocationPath::parse(path)?, Vec::new())
    }

    #[test]
    fn pods_are_spoken_to_as_the_location_says() {
        let tuned = [
            URL,
            "proxy_request_buffering off",
            "proxy_next_upstream off",
            "limit_rate 100k",
            "limit_rate_after 1m",
        ];
        let mut policy = Policy::default();
        read(&["/a"], &tuned).unwrap().apply_to(&mut policy);
        assert!(!policy.buffering.request_buffering);
        assert_eq!(policy.retries.on, RetryOn::never());
        assert_eq!(policy.bandwidth_limit, NonZeroU32::new(100));
        assert_eq!(policy.bandwidth_limit_after, 1024);
        for bad in [
            "proxy_request_buffering maybe",
            "proxy_next_upstream $a",
            "limit_rate 1000",
            "limit_rate $a",
            "limit_rate_after 1000",
            "limit_rate_after $a",
        ] {
            assert_eq!(read(&["/a"], &[URL, bad]), None, "{bad}");
            assert_eq!(read(&["/a"], &[tuned[1], tuned[1], URL]), None);
        }
    }

    const URL: &str = "proxy_pass http://web.demo.svc.cluster.local:8080";

    #[test]
    fn a_service_or_a_name_of_it_is_read() {
        let web = ObjectKey::new("demo", "web");
        let service = |port| ProxyUpstream::Service(web.clone(), Port::Number(port));
        let of = |directives: &[&str]| read(&["/a"], directives).unwrap();
        assert_eq!(of(&[URL]).upstream, service(8080));
        assert_eq!(
            of(&["proxy_pass http://web.demo.svc$request_uri"]).upstream,
            service(80)
        );
        let named = of(&[
            "set $proxy_upstream_name demo-web-80",
            "proxy_pass http://upstream_balancer",
        ]);
        assert_eq!(
            named.upstream,
            ProxyUpstream::Named("demo-web-80".to_owned())
        );
        assert_eq!(
            of(&[URL]).host,
            Some(Expression::literal("web.demo.svc.cluster.local:8080"))
        );
        let tls = of(&["proxy_pass https://web.demo.svc"]);
        assert_eq!((tls.upstream, tls.is_tls), (service(443), true));
        assert_eq!(tls.host, Some(Expression::literal("web.demo.svc")));
        assert!(!of(&[URL]).is_tls);
        assert_eq!(of(&[URL, "proxy_set_header Host $host"]).host, None);
        let times = of(&[
            URL,
            "proxy_read_timeout 1h",
            "proxy_send_timeout 90",
            "client_max_body_size 0",
        ]);
        assert_eq!(
            (times.read_timeout, times.send_timeout),
            (Some(3600), Some(90))
        );
        assert_eq!(times.max_body_size, Some(None));
    }

    #[test]
    fn a_path_takes_the_place_of_the_locations() {
        let url = |path: &str| format!("{URL}{path}");
        let of = |path: &[&str], to| read(path, &[&url(to)]);
        let prefix = of(&["/old.x/"], "/new/").unwrap();
        assert_eq!(prefix.groups.unwrap().pattern, r"^/old\.x/([\s\S]*)");
        let exact = of(&["=", "/a"], "/b").unwrap();
        assert_eq!(
            exact.rewrite,
            Some(PathRewrite::Full {
                full: "/b".to_owned()
            })
        );
        assert!(of(&["~", "^/a"], "/").is_none() && of(&["~", "^/a"], "").is_some());
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for bad in [
            &["proxy_pass http://web"][..],
            &["proxy_pass http://web.demo"],
            &["proxy_pass ftp://web.demo.svc"],
            &["proxy_pass https://web"],
            &["proxy_pass http://10.0.0.1:80"],
            &["proxy_pass http://$host"],
            &["proxy_pass http://web.demo.svc:$port"],
            &["proxy_pass http://web.demo.svc/a?b"],
            &["proxy_pass http://web.demo.svc/%61"],
            &["proxy_pass http://web.demo.svc/$1"],
            &["proxy_pass http://web.demo.svc/new$request_uri"],
            &["proxy_pass http://web.demo.svc/$request_uri"],
            &["proxy_pass http://web.demo.svc$request_uri$request_uri"],
            &["proxy_pass http://web.demo.svc.other.test"],
            &["proxy_pass http://upstream_balancer"],
            &[URL, URL],
            &[URL, "proxy_read_timeout 0"],
            &[URL, "proxy_read_timeout 10ms"],
            &[URL, "client_max_body_size 1x"],
            &[URL, "set $proxy_upstream_name demo-web-80"],
            &["proxy_read_timeout 5"],
        ] {
            assert_eq!(read(&["/a"], bad), None, "{bad:?}");
        }
    }
}
