//! Kong's ngx_wasm_module: the same filter, in a host that knows neither peers nor retries of them.
//!
//! ```text
//!   location --> the filter: $sluice_endpoint = a,b,c --> proxy_pass to a
//!      its pod fails: error_page --> @sluice_again: $sluice_endpoint = b,c --> proxy_pass to b --> ...
//! ```
//!
//! Each location that forwards has a second one for its retries, which leads to itself until candidates, attempts or what
//! can be repeated without harm are at an end. Connections are not kept: stock nginx keeps those of configured upstreams.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sluice_ir::{Action, BackendId, HttpRoute, Protocol};

use crate::conf::{Word, word};
use crate::context::{Host, RenderContext};
use crate::files::names::hash;
use crate::settings::{Engine, Settings};
use crate::transports::Transports;
use crate::unsupported::{Element, Unsupported};
use crate::upstream::transport;

/// Directives for all hosts.
pub(crate) struct KongConf {
    pub(crate) filter: Word,
    pub(crate) cache: Word,
    pub(crate) bootstrap_config: Word,
    pub(crate) retries: BTreeSet<RetryKind>,
}

/// The retries of a location.
pub(crate) struct Retry {
    /// The location of nginx's own in which they happen.
    pub(crate) name: String,
    /// Failures, and the variables that say what follows.
    pub(crate) pages: Vec<(u16, String)>,
    /// The server has an error page of its own, which those of the location would hide.
    pub(crate) refused: bool,
}

/// Kinds of requests that are retried, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RetryKind {
    attempts: u8,
    /// Also what cannot be repeated without harm.
    anything: bool,
}

impl KongConf {
    /// `None` where another host runs the filter.
    pub(crate) fn new(retries: BTreeSet<RetryKind>, settings: &Settings) -> Option<Self> {
        let Engine::Kong { filter, cache, .. } = &settings.engine else {
            return None;
        };
        let file = |path: &std::path::Path| word(path.display());
        let (filter, cache) = (file(filter), file(cache));
        Some(KongConf {
            filter,
            cache,
            bootstrap_config: word(&settings.bootstrap_config),
            retries,
        })
    }
}

impl Retry {
    /// `None` where nothing is retried, or nginx itself does it.
    pub(crate) fn of(
        (route, at): (&HttpRoute, &str),
        host: Host<'_>,
        context: RenderContext<'_>,
    ) -> Option<Self> {
        let kind = RetryKind::of_route(route).filter(|_| context.settings.engine.is_kongs())?;
        let on = &route.policy.retries.on;
        let failures = [(502, on.error || on.invalid_header), (504, on.timeout)];
        let failures = failures.into_iter().filter(|(_, is_on)| *is_on);
        Some(Retry {
            // A location of nginx's is known by its path, and a path may hold anything.
            name: format!("@sluice_again_{}", hash(at)),
            pages: failures
                .map(|(status, _)| (status, kind.variable(status)))
                .collect(),
            refused: host
                .clients()
                .is_some_and(|clients| clients.error_page.is_some()),
        })
    }
}

impl RetryKind {
    pub(crate) fn of_route(route: &HttpRoute) -> Option<Self> {
        let Action::Forward(_) = &route.action else {
            return None;
        };
        let retries = &route.policy.retries;
        let never = !(retries.on.error || retries.on.timeout || retries.on.invalid_header);
        if never || route.error_pages.is_some() || retries.attempts.get() < 2 {
            return None;
        }
        // nginx itself ends what goes on after ten redirects.
        let attempts = retries.attempts.get().min(10);
        Some(RetryKind {
            attempts,
            anything: retries.on.non_idempotent,
        })
    }

    /// The variable that says what follows the failure of a request.
    fn variable(self, status: u16) -> String {
        let RetryKind { attempts, anything } = self;
        format!(
            "sluice_{attempts}_{}_{status}",
            if anything { "any" } else { "safe" }
        )
    }

    /// All of those variables, each with what has happened.
    pub(crate) fn variables(self) -> [(u16, String); 2] {
        [502, 504].map(|status| (status, self.variable(status)))
    }

    /// Matches `method|bytes sent|addresses|candidates|location` of what is retried: something is left to try, and, if
    /// that matters, the method can be repeated, or nothing of the request has been sent.
    pub(crate) fn pattern(self) -> Word {
        let request = if self.anything {
            r"[^|]*\|[^|]*"
        } else {
            r"(?:(?!(?:POST|LOCK|PATCH)\|)[^|]*\|[^|]*|[^|]*\|0(?: : 0)*)"
        };
        let before = self.attempts.saturating_sub(2);
        word(format!(
            r"~^{request}\|[^| ]+(?: : [^| ]+){{0,{before}}}\|[^,|]*,[^|]+\|(?<sluice_next>@\w+)$"
        ))
    }
}

/// Features of a location that ngx_wasm_module does not support.
pub(crate) fn unsupported(
    main: &BackendId,
    route: &HttpRoute,
    context: RenderContext<'_>,
) -> Vec<&'static str> {
    if !context.settings.engine.is_kongs() {
        return Vec::new();
    }
    let (policy, retries) = (&route.policy, &route.policy.retries);
    let has_retries = retries.attempts.get() > 1 && RetryKind::of_route(route).is_none();
    let protocol = transport(main, context.config).protocol;
    let streams = protocol == Protocol::Http2;
    let missing = [
        (
            !policy.buffering.request_buffering,
            "proxy-request-buffering: ngx_wasm_module reads all of a request's body",
        ),
        (
            streams,
            "backend-protocol: ngx_wasm_module reads all of a request's body, so clients cannot stream",
        ),
        (
            protocol == Protocol::FastCgi,
            "backend-protocol: FCGI is not tested with ngx_wasm_module",
        ),
        (
            !retries.on.statuses.is_empty(),
            "proxy-next-upstream: with ngx_wasm_module no answer is tried again",
        ),
        (
            retries.timeout.is_some(),
            "proxy-next-upstream-timeout: ngx_wasm_module",
        ),
        (
            has_retries && route.error_pages.is_some(),
            "custom-http-errors: with ngx_wasm_module nothing is tried again",
        ),
        (
            retries.attempts.get() > 10,
            "proxy-next-upstream-tries: with ngx_wasm_module more than 10",
        ),
    ];
    missing
        .into_iter()
        .filter(|(is_missing, _)| *is_missing)
        .map(|(_, what)| what)
        .collect()
}

/// The same of the operator's settings.
pub(crate) fn unsupported_globally(
    transports: &Transports,
    settings: &Settings,
) -> Option<Unsupported> {
    (settings.engine.is_kongs() && transports.has_own_keep_alive()).then_some(Unsupported {
        element: Element::Setting("upstream-keepalive-requests"),
        what: Cow::Borrowed("upstream-keepalive-*: ngx_wasm_module keeps no connections to pods"),
        closes: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_variable_says_what_is_retried() {
        let kind = RetryKind {
            attempts: 3,
            anything: false,
        };
        assert_eq!(kind.variable(502), "sluice_3_safe_502");
        assert_eq!(
            RetryKind {
                anything: true,
                ..kind
            }
            .variable(504),
            "sluice_3_any_504"
        );
        assert!(
            kind.pattern().0.to_string().contains("{0,1}"),
            "two of three may have been tried"
        );
    }

    #[test]
    fn the_template_declares_every_variable_of_the_host_contract() {
        use sluice_filter_config::host_contract::{BACKEND, ENDPOINT, OWNER, ROUTE};

        let template = include_str!("../templates/http/pods.conf");
        for variable in [ROUTE, ENDPOINT, BACKEND, OWNER] {
            let declaration = format!("set ${} \"\";", variable.name);
            assert!(template.contains(&declaration), "{declaration}");
        }
    }
}
