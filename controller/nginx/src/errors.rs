//! Answers that clients do not get: an error service is asked instead, in a location of nginx's own for each status.

use std::collections::BTreeMap;

use sluice_ir::{Action, BackendId, Config, ErrorPages, ErrorRequest, Location, Protocol, Server, Transport};

use crate::conf::{Text, Value, value};
use crate::files::hash;
use crate::server::Scene;
use crate::told::{self, Line};
use crate::upstream;

/// nginx's word for clients that went away; it refuses an error page for that.
const NOBODY_LISTENS: u16 = 499;

/// Where a status leads.
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) name: String,
}

/// A location that asks an error service.
pub(crate) struct Asked {
    pub(crate) name: String,
    /// `None`: nobody is asked, and clients get 404.
    pub(crate) service: Option<Service>,
}

/// Who is asked.
pub(crate) struct Service {
    /// By what the filter knows these requests.
    pub(crate) route: Value,
    /// By what requests are counted, if they are.
    pub(crate) counted: Option<Value>,
    pub(crate) upstream: String,
    pub(crate) connect: u32,
    pub(crate) pods: Vec<Line>,
}

/// What replaces the answers of a location.
pub(crate) fn pages(location: &Location, config: &Config) -> Vec<Page> {
    let Some((pages, statuses)) = served(location, config) else { return Vec::new() };
    statuses.map(|status| Page { status, name: name(pages, status) }).collect()
}

/// The locations that a server's pages lead to, each once.
pub(crate) fn asked(server: &Server, scene: Scene<'_>) -> Vec<Asked> {
    let mut all = BTreeMap::new();
    for (pages, statuses) in server.locations.iter().filter_map(|location| served(location, scene.config)) {
        for status in statuses {
            let service = pages.backend.as_ref().map(|id| service(id, pages, status, scene));
            all.entry(name(pages, status)).or_insert(service);
        }
    }
    all.into_iter().map(|(name, service)| Asked { name, service }).collect()
}

/// The statuses of a location that nginx can replace, and by what.
fn served<'a>(
    location: &'a Location,
    config: &Config,
) -> Option<(&'a ErrorPages, impl Iterator<Item = u16> + use<'a>)> {
    let forwards = matches!(location.action, Action::Forward(_));
    let pages = location.error_pages.as_ref().filter(|_| forwards)?;
    let known = pages.statuses.iter().copied().filter(|status| *status != NOBODY_LISTENS);
    let is_unusual = pages.backend.as_ref().is_some_and(|id| is_unusual(id, config));
    (!is_unusual).then_some((pages, known))
}

/// Whether an error service is spoken to in a way that is not written here.
pub(crate) fn is_unusual(id: &BackendId, config: &Config) -> bool {
    let Transport { protocol, tls, .. } = upstream::transport(id, config);
    let outside = config.backends.get(id).is_some_and(|backend| backend.outside.is_some());
    protocol != Protocol::Http1 || tls.is_some() || outside
}

/// Whatever a name holds, only its hash is in it.
fn name(pages: &ErrorPages, status: u16) -> String {
    format!("@sluice_error_{}_{status}", hash(&format!("{:?} {:?}", pages.backend, pages.place)))
}

fn service(id: &BackendId, pages: &ErrorPages, status: u16, scene: Scene<'_>) -> Service {
    let Scene { config, settings, .. } = scene;
    let transport = upstream::transport(id, config);
    let mut own = told::of_error(&ErrorRequest { status, place: pages.place.clone() });
    own.push(("X-Original-URI".to_owned(), Text::default().variable("request_uri")));
    Service {
        route: value(ErrorPages::route(id)),
        counted: settings.requests.as_ref().map(|_| value(id.as_str())),
        upstream: upstream::name(&transport, config),
        connect: transport.connect_timeout,
        pods: told::pods(&config.edge, own),
    }
}
