//! Answers that clients do not get: an error service is asked instead, in a location of nginx's own for each status.

use std::collections::BTreeMap;

use sluice_ir::{
    BackendId, ErrorPages, ErrorRequest, HeaderName, HttpRoute, Protocol, RouteId, Server,
    Transport,
};

use crate::conf::{Text, Value, value};
use crate::context::RenderContext;
use crate::files::names::hash;
use crate::location::headers::{self, Line};
use crate::tracked_config::TrackedConfig;
use crate::upstream;

/// nginx's word for clients that went away; it refuses an error page for that.
const NOBODY_LISTENS: u16 = 499;

/// Error page of one status.
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) name: String,
}

/// A location that asks an error service.
pub(crate) struct Asked {
    pub(crate) name: String,
    /// `None`: there is no error service, and clients get 404.
    pub(crate) service: Option<Service>,
}

/// The service that is asked.
pub(crate) struct Service {
    /// By what the filter knows these requests.
    pub(crate) route: Value,
    /// By what requests are counted, if they are.
    pub(crate) counted: Option<Value>,
    pub(crate) upstream: String,
    pub(crate) connect: u32,
    pub(crate) pods: Vec<Line>,
}

/// Error pages of a location.
pub(crate) fn pages(route: &HttpRoute, config: &TrackedConfig<'_>) -> Vec<Page> {
    let Some((pages, statuses)) = served(route, config) else {
        return Vec::new();
    };
    statuses
        .map(|status| Page {
            status,
            name: name(pages, status),
        })
        .collect()
}

/// The locations that a server's pages lead to, each once.
pub(crate) fn asked(server: &Server, context: RenderContext<'_>) -> Vec<Asked> {
    let mut all = BTreeMap::new();
    for route in &server.routes {
        let Some((pages, statuses)) = served(route, context.config) else {
            continue;
        };
        for status in statuses {
            // All locations with this name are of one Ingress, and so are their headers.
            let headers = &route.policy.auth_headers;
            let service = pages
                .backend
                .as_ref()
                .map(|id| service(id, pages, status, headers, context));
            all.entry(name(pages, status)).or_insert(service);
        }
    }
    all.into_iter()
        .map(|(name, service)| Asked { name, service })
        .collect()
}

/// The statuses of a location that nginx can replace, and by what.
fn served<'a>(
    route: &'a HttpRoute,
    config: &TrackedConfig<'_>,
) -> Option<(&'a ErrorPages, impl Iterator<Item = u16> + use<'a>)> {
    let pages = route.error_pages.as_ref();
    let pages = pages.filter(|_| route.action.has_policies())?;
    let known = pages
        .statuses
        .iter()
        .copied()
        .filter(|status| *status != NOBODY_LISTENS);
    let is_unusual = pages
        .backend
        .as_ref()
        .is_some_and(|id| is_unusual(id, config));
    (!is_unusual).then_some((pages, known))
}

/// True if an error service needs a protocol that is not rendered here.
pub(crate) fn is_unusual(id: &BackendId, config: &TrackedConfig<'_>) -> bool {
    let Transport { protocol, tls, .. } = upstream::transport(id, config);
    protocol != Protocol::Http1 || tls.is_some()
}

/// Whatever a name holds, only its hash is in it.
fn name(pages: &ErrorPages, status: u16) -> String {
    format!(
        "@sluice_error_{}_{status}",
        hash(&format!("{:?} {:?}", pages.backend, pages.headers))
    )
}

fn service(
    id: &BackendId,
    pages: &ErrorPages,
    status: u16,
    auth_headers: &[HeaderName],
    context: RenderContext<'_>,
) -> Service {
    let transport = upstream::transport(id, context.config);
    let mut own = headers::for_error_service(&ErrorRequest {
        status,
        headers: pages.headers.clone(),
    });
    own.push((
        "X-Original-URI".to_owned(),
        Text::default().variable("request_uri"),
    ));
    // A tunnel would be one of a client who may have been denied.
    own.extend(["Upgrade", "Connection"].map(|name| (name.to_owned(), Text::default())));
    own.extend(
        auth_headers
            .iter()
            .map(|name| (name.as_str().to_owned(), Text::default())),
    );
    Service {
        route: value(RouteId::error_service(id).as_str()),
        counted: context.counts_routes().then(|| value(id.as_str())),
        upstream: upstream::name(&transport, context.config),
        connect: transport.connect_timeout,
        pods: headers::for_upstream(context.global(), own),
    }
}
