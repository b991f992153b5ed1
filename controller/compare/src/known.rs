//! Differences that docs/differences.md and its pages name.

use crate::facts::{Aspect, Fact, Facts};
use crate::probe::Probe;

/// A difference that is on purpose, and where that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Known {
    /// The reason in one line.
    pub reason: &'static str,
    /// The page, and its part.
    pub page: &'static str,
}

const MEASURED: &str = "docs/differences.md#measured";
const ON_PURPOSE: &str = "docs/differences.md#on-purpose";
const OF_ENVOY: &str = "docs/differences-envoy.md#measured";
const OF_NGINX: &str = "docs/differences-nginx.md#measured";

/// Looks a difference up: what the old data plane says, and what the new one does.
pub(crate) fn known(
    aspect: &Aspect,
    (old, new): (Option<&Fact>, Option<&Fact>),
    (all_old, all_new): (&Facts, &Facts),
    probe: &Probe,
) -> Option<Known> {
    let status = |facts: &Facts| {
        let fact = facts.get(&Aspect::Status);
        fact.and_then(|fact| fact.shown.parse::<u16>().ok())
    };
    let (was, is) = (status(all_old), status(all_new));
    let known = |reason, page| Some(Known { reason, page });
    if was != is
        && let Some(found) = by_status(was, is, probe)
    {
        // Whatever else differs comes of it.
        return Some(found);
    }
    match aspect {
        Aspect::Header(name) if name == "strict-transport-security" => {
            let is_of_the_proxy = is.is_some_and(|status| status >= 300);
            match (probe.request.scheme.as_str(), old, new) {
                ("https", None, Some(_)) if is_of_the_proxy => known(
                    "Strict-Transport-Security is on every response over HTTPS, also on redirects and errors that the proxy makes",
                    MEASURED,
                ),
                ("http", Some(_), None) => known(
                    "nginx does not pass a pod's Strict-Transport-Security on over HTTP",
                    OF_NGINX,
                ),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Statuses that differ on purpose.
fn by_status(was: Option<u16>, is: Option<u16>, probe: &Probe) -> Option<Known> {
    let (was, is) = (was?, is?);
    let target = &probe.request.target;
    let known = |reason, page| Some(Known { reason, page });
    match is {
        503 if probe.context.is_closed => known(
            "access control that cannot be read or enforced closes its paths; `sluice lint` names the annotation",
            ON_PURPOSE,
        ),
        503 if probe.context.has_firewall => known(
            "without ModSecurity, paths whose firewall may reject requests answer 503",
            "docs/waf.md",
        ),
        401 if was < 400 && probe.context.asks_for_digest => known(
            "auth-type: digest asks for a password; the nginx of ingress-nginx has no module for it",
            MEASURED,
        ),
        400 if !target.is_ascii() => known(
            "Envoy answers 400 where a byte beyond ASCII is in a path",
            OF_ENVOY,
        ),
        431 if was == 400 || was == 414 => known(
            "Envoy limits a request head as a whole (431 instead of 400 or 414)",
            OF_ENVOY,
        ),
        _ => None,
    }
}
