//! Copies of requests: a location of nginx's own for each place that they go to.

use std::collections::BTreeMap;

use sluice_ir::{Action, Config, Location, Mirror, Outside, Server};

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
}

/// The path of the location that a mirror is; nobody can ask for it.
pub(crate) fn path(mirror: &Mirror) -> Word {
    let place = format!("{} {}", mirror.backend.as_str(), mirror.host);
    word(format!("/_sluice_mirror/{}", hash(&place)))
}

/// Those of a server, each once.
pub(crate) fn copies(server: &Server, config: &Config) -> Vec<Copies> {
    let mirrors = server.locations.iter().filter_map(|location| of(location, config));
    let all: BTreeMap<_, _> = mirrors
        .map(|(mirror, outside)| ((mirror.backend.as_str(), mirror.host.as_str()), (mirror, outside)))
        .collect();
    all.into_values().map(|(mirror, outside)| conf(mirror, outside, config)).collect()
}

/// A mirror that nginx serves. Those that lead to pods it does not: the filter chooses once for each request.
pub(crate) fn of<'a>(location: &'a Location, config: &'a Config) -> Option<(&'a Mirror, &'a Outside)> {
    let forwards = matches!(location.action, Action::Forward(_));
    let mirror = location.policy.mirror.as_ref().filter(|_| forwards)?;
    Some((mirror, config.backends.get(&mirror.backend)?.outside.as_ref()?))
}

fn conf(mirror: &Mirror, outside: &Outside, config: &Config) -> Copies {
    let transport = upstream::transport(&mirror.backend, config);
    let tls = transport.tls.and_then(|tls| tls.server_name);
    let host = ("Host".to_owned(), Text::default().then(&mirror.host));
    Copies {
        path: path(mirror),
        place: value(upstream::place(outside)),
        tls: tls.map(value),
        pods: told::pods(&config.edge, vec![host]),
    }
}
