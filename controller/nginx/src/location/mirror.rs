//! Copies of requests: a location of nginx's own for each place that they go to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sluice_ir::{BackendId, Copies, Fraction, HttpRoute, Mirror, Policy, RouteId, Server};

use crate::conf::{Text, Value, Word, value, word};
use crate::files::names::hash;
use crate::location::auth_request;
use crate::location::headers::{self, Line};
use crate::location::upstream_tls::Tls;
use crate::tracked_config::TrackedConfig;
use crate::upstream;

/// Says a copy's own Host on its way to a relay, which is found by that name.
const RELAYED_HOST: &str = "x-sluice-copies-host";
/// The upstream of all relays.
pub(crate) const RELAYS: &str = "sluice_copies";

/// Server on a socket of nginx's own, where a copy is a request of its own.
pub(crate) struct Relay {
    /// The name that it is asked by.
    pub(crate) name: Word,
    /// By what the filter knows these requests.
    pub(crate) route: Value,
    pub(crate) scheme: &'static str,
    pub(crate) upstream: String,
    pub(crate) tls: Option<Tls>,
}

/// Location of a server whose requests are copies for one mirror.
pub(crate) struct MirrorLocation {
    pub(crate) path: Word,
    /// A variable's content, because nginx would ask DNS for anything else before it starts.
    pub(crate) place: Value,
    /// Argument of `proxy_pass`.
    pub(crate) url: Value,
    pub(crate) tls: Option<Tls>,
    pub(crate) pods: Vec<Line>,
    pub(crate) bodiless: bool,
    /// Variable that is empty for requests that are not copied.
    pub(crate) sample: Option<String>,
}

/// A mirror that nginx serves.
pub(crate) struct ServedMirror<'a> {
    mirror: &'a Mirror,
    /// Address or upstream that copies go to.
    place: String,
    /// Copies have no body.
    pub(crate) bodiless: bool,
}

impl ServedMirror<'_> {
    /// The location that it is. It begins with no slash, as paths of clients and of Ingresses do, so no client can ask for it and no
    /// Ingress can have it.
    pub(crate) fn path(&self) -> Word {
        word(format!("sluice_mirror_{}", self.identity()))
    }

    /// Mirrors that agree in this are one location of nginx's.
    fn identity(&self) -> String {
        let mirror = self.mirror;
        let body = if self.bodiless { " bodiless" } else { "" };
        let part = mirror.fraction.map_or_else(String::new, |fraction| {
            format!(" {} of a million", fraction.millionths())
        });
        let path = mirror.path.as_ref().map_or_else(String::new, |path| {
            format!(" {} {}", path.literal, path.request_uri)
        });
        let place = format!(
            "{} {}{body}{part}{path}",
            mirror.backend.as_str(),
            mirror.host.as_deref().unwrap_or("$host")
        );
        hash(&place)
    }

    /// Variable that is empty for requests that are not copied, if not all are.
    fn sample(&self) -> Option<String> {
        self.mirror.fraction?;
        Some(format!("sluice_sample_{}", self.identity()))
    }
}

/// Those of a server, each once.
pub(crate) fn locations(server: &Server, config: &TrackedConfig<'_>) -> Vec<MirrorLocation> {
    let mut all: BTreeMap<_, (ServedMirror<'_>, Vec<&Policy>)> = BTreeMap::new();
    for route in &server.routes {
        for mirror in of(route, config) {
            all.entry(mirror.identity())
                .or_insert_with(|| (mirror, Vec::new()))
                .1
                .push(&route.policy);
        }
    }
    all.into_values()
        .map(|(mirror, policies)| conf(&mirror, &policies, config))
        .collect()
}

/// Mirrors of a route that nginx serves, and where they lead. The filter chooses once for each request, so copies for a Service go to
/// the address of the Service itself; where there is none, they are requests of their own, on a socket of nginx's.
pub(crate) fn of<'a>(
    route: &'a HttpRoute,
    config: &TrackedConfig<'_>,
) -> impl Iterator<Item = ServedMirror<'a>> {
    let forwards = route.destination().is_some();
    let mirrors = route.policy.mirrors.iter().filter(move |_| forwards);
    mirrors.filter_map(|mirror| {
        let backend = config.backend(&mirror.backend)?;
        let place = mirror
            .address
            .map_or_else(|| RELAYS.to_owned(), |address| address.to_string());
        Some(ServedMirror {
            mirror,
            place,
            bodiless: backend.transport.copies == Some(Copies::Bodiless),
        })
    })
}

/// Requests of which a part is copied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sampled {
    /// Variable that is empty for requests that are not copied.
    pub(crate) variable: String,
    /// Percentage, to the hundredth, as far as nginx counts; `None` is none of them.
    pub(crate) percent: Option<String>,
}

/// Fractions of a route's requests that are copied somewhere.
pub(crate) fn sampled(
    route: &HttpRoute,
    config: &TrackedConfig<'_>,
) -> impl Iterator<Item = Sampled> {
    of(route, config).filter_map(|served| {
        Some(Sampled {
            variable: served.sample()?,
            percent: percent(served.mirror.fraction?),
        })
    })
}

/// nginx reads two places behind the point; less than that is rounded up.
fn percent(fraction: Fraction) -> Option<String> {
    let hundredths = fraction.millionths().div_ceil(100);
    (hundredths > 0).then(|| format!("{}.{:02}", hundredths / 100, hundredths % 100))
}

/// Socket of all relays: one, because a path may be no longer than 100 bytes or so.
pub(crate) fn socket(folder: &Path) -> PathBuf {
    folder.join("copies.sock")
}

/// Targets of a route's mirrors that need a relay.
pub(crate) fn relayed<'a>(
    route: &'a HttpRoute,
    config: &TrackedConfig<'_>,
) -> impl Iterator<Item = &'a BackendId> {
    of(route, config)
        .map(|served| served.mirror)
        .filter(|mirror| mirror.address.is_none())
        .map(|mirror| &mirror.backend)
}

impl Relay {
    pub(crate) fn new(id: &BackendId, config: &TrackedConfig<'_>) -> Self {
        let transport = upstream::transport(id, config);
        Relay {
            name: word(hash(id.as_str())),
            route: value(RouteId::mirror(id).as_str()),
            scheme: if transport.tls.is_some() {
                "https"
            } else {
                "http"
            },
            upstream: upstream::name(&transport, config),
            tls: transport.tls.as_ref().map(Tls::of_mirror),
        }
    }
}

/// `policies`: of the locations whose requests are copied.
fn conf(
    served: &ServedMirror<'_>,
    policies: &[&Policy],
    config: &TrackedConfig<'_>,
) -> MirrorLocation {
    let mirror = served.mirror;
    let transport = upstream::transport(&mirror.backend, config);
    let host = match &mirror.host {
        Some(host) => Text::default().then(host),
        None => Text::default().variable("host"),
    };
    let named = |name: &str, text| (name.to_owned(), text);
    // A relay speaks TLS itself.
    let (tls, own) = match mirror.address {
        Some(_) => (
            transport.tls.as_ref().map(Tls::of_mirror),
            vec![named("Host", host)],
        ),
        None => {
            let relay = Text::default().then(&hash(mirror.backend.as_str()));
            (None, vec![named("Host", relay), named(RELAYED_HOST, host)])
        }
    };
    MirrorLocation {
        path: served.path(),
        place: value(&served.place),
        url: url(mirror, tls.is_some()),
        tls,
        pods: headers::for_upstream(
            &config.shared().global,
            own.into_iter().chain(auth_headers(policies)).collect(),
        ),
        bodiless: served.bodiless,
        sample: served.sample(),
    }
}

fn url(mirror: &Mirror, is_tls: bool) -> Value {
    let scheme = if is_tls { "https://" } else { "http://" };
    let host = Text::default().then(scheme).variable("sluice_outside");
    let (literal, request_uri) = match &mirror.path {
        Some(path) => (path.literal.as_str(), path.request_uri),
        None => ("", true),
    };
    let path = host.then(literal);
    let whole = if request_uri {
        path.variable("request_uri")
    } else {
        path.variable("is_args").variable("args")
    };
    whole.quoted()
}

/// A copy says no more than its request does: nginx makes it of what the client said. A variable of a location that was not
/// gone through is empty.
fn auth_headers(policies: &[&Policy]) -> BTreeMap<String, Text> {
    let mut all: BTreeMap<String, Text> = BTreeMap::new();
    for policy in policies {
        for (name, text) in auth_request::upstream_headers(policy) {
            let known = all.entry(name).or_default();
            if *known == Text::default() {
                *known = text;
            }
        }
    }
    all
}
