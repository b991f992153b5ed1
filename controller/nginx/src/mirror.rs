//! Copies of requests: a location of nginx's own for each place that they go to.

use std::collections::BTreeMap;

use sluice_ir::{Action, Config, Location, Mirror, Server};

use crate::conf::{Text, Value, Word, value, word};
use crate::files::hash;
use crate::told::{self, Line};
use crate::upstream;

/// Where the copies of a server's requests go.
pub(crate) struct Copies {
    pub(crate) path: Word,
    /// A variable's content, because nginx would ask DNS for anything else before it starts.
    pub(crate) place: Value,
    pub(crate) tls: Option<Value>,
    pub(crate) pods: Vec<Line>,
    pub(crate) bodiless: bool,
}

/// The path of the location that a mirror is; nobody can ask for it.
pub(crate) fn path(mirror: &Mirror) -> Word {
    let body = if mirror.bodiless { " bodiless" } else { "" };
    let place = format!("{} {}{body}", mirror.backend.as_str(), mirror.host);
    word(format!("/_sluice_mirror/{}", hash(&place)))
}

/// Those of a server, each once.
pub(crate) fn copies(server: &Server, config: &Config) -> Vec<Copies> {
    let mirrors = server.locations.iter().filter_map(|location| of(location, config));
    let all: BTreeMap<_, _> = mirrors
        .map(|(mirror, place)| ((mirror.backend.as_str(), &mirror.host, mirror.bodiless), (mirror, place)))
        .collect();
    all.into_values().map(|(mirror, place)| conf(mirror, &place, config)).collect()
}

/// A mirror that nginx serves, and where it leads. The filter chooses once for each request, so copies for a Service go to
/// the address of the Service itself; one without an address gets none.
pub(crate) fn of<'a>(location: &'a Location, config: &Config) -> Option<(&'a Mirror, String)> {
    let forwards = matches!(location.action, Action::Forward(_));
    let mirror = location.policy.mirror.as_ref().filter(|_| forwards)?;
    let outside = config.backends.get(&mirror.backend)?.outside.as_ref();
    let place = outside.map(upstream::place).or_else(|| Some(mirror.address?.to_string()))?;
    Some((mirror, place))
}

/// Whether somebody must be asked for the address.
pub(crate) fn needs_dns(location: &Location, config: &Config) -> bool {
    let backend = location.policy.mirror.as_ref().and_then(|mirror| config.backends.get(&mirror.backend));
    backend.is_some_and(|backend| backend.outside.is_some())
}

fn conf(mirror: &Mirror, place: &str, config: &Config) -> Copies {
    let transport = upstream::transport(&mirror.backend, config);
    let tls = transport.tls.and_then(|tls| tls.server_name);
    let host = ("Host".to_owned(), Text::default().then(&mirror.host));
    Copies {
        path: path(mirror),
        place: value(place),
        tls: tls.map(value),
        pods: told::pods(&config.edge, vec![host]),
        bodiless: mirror.bodiless,
    }
}
