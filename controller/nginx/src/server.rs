//! One host.

use std::borrow::Cow;
use std::collections::BTreeSet;

use askama::Template;
use sluice_ir::{
    Blocked, ClientCertificates, ConnectionSettings, HttpRoute, RouteId, Server, ServerName,
};
use sluice_pattern::Subject;

use crate::checks;
use crate::conf::{Value, Word, word};
use crate::context::{Host, RenderContext};
use crate::location::LocationConf;
use crate::location::auth_request::AuthLocation;
use crate::location::direct_response::DirectResponses;
use crate::location::errors::{self, Asked};
use crate::location::matching::Matching;
use crate::location::mirror::{self, MirrorLocation};
use crate::location::redirect;
use crate::settings::Settings;
use crate::stream::passthrough;
use crate::tls::ClientTls;
use crate::unsupported::{Element, Unsupported};
use crate::waf;

/// `server {}`.
#[derive(Template)]
#[template(path = "server/server.conf")]
pub(crate) struct ServerConf<'a> {
    settings: &'a Settings,
    /// Words after the address.
    is_default: bool,
    proxy_protocol: bool,
    /// The socket that TLS comes by, where `stream {}` has the https port.
    https_socket: Option<Word>,
    http2: bool,
    names: Vec<Word>,
    /// Verification of client certificates, and the response to who is refused, if it is not nginx's own.
    clients: Option<(ClientTls, Option<DirectResponses>)>,
    ciphers: Option<Word>,
    prefers_its_ciphers: Option<bool>,
    connections: ConnectionSettings,
    /// Requests for unknown hosts are denied.
    rejects: bool,
    /// Pattern that the subject of a client certificate has to match.
    subject: Option<Word>,
    /// Somebody is let in nowhere.
    blocks: bool,
    app_root: Option<Value>,
    /// Rules of firewalls around its locations.
    waf_files: Vec<Word>,
    locations: Vec<LocationConf>,
    /// Other hosts are in a table.
    has_table: bool,
    /// Locations of the hosts that are in a table, rendered.
    profiles: Option<String>,
    mirrors: Vec<MirrorLocation>,
    errors: Vec<Asked>,
    auth_location: Option<AuthLocation>,
    /// Something takes every path.
    is_whole: bool,
}

impl<'a> ServerConf<'a> {
    pub(crate) fn new(
        name: &ServerName,
        server: &Server,
        context: RenderContext<'a>,
        unsupported: &mut Vec<Unsupported>,
    ) -> Self {
        let (host, settings) = (Host { name, server }, context.settings);
        let (global, module) = (context.global(), settings.modsecurity.as_ref());
        let context = RenderContext {
            place: context.shared().waf.server(server, global, module),
            ..context
        };
        let Locations {
            taken,
            locations,
            closed,
        } = Locations::new(host, context, unsupported);
        // What is beside locations is for those that lead somewhere: it uses variables that they set.
        let open = without(&closed, server);
        ServerConf {
            settings,
            is_default: *name == ServerName::CatchAll,
            proxy_protocol: global.forwarded.proxy_protocol,
            https_socket: passthrough::https(context.passed(), settings),
            http2: global.http.http2,
            names: server.names(name).map(server_name).collect(),
            clients: clients(host, context),
            ciphers: (!server.ciphers.is_empty()).then(|| word(server.ciphers.join(":"))),
            prefers_its_ciphers: server.prefer_server_ciphers,
            connections: server.connections,
            rejects: global.tls.reject_unknown_names && *name == ServerName::CatchAll,
            subject: host.server.client_certificates.as_ref().and_then(subject),
            blocks: global.blocked != Blocked::default(),
            app_root: server.app_root.as_ref().map(redirect::app_root),
            is_whole: ["", "^~ "]
                .iter()
                .any(|sign| taken.contains(&(*sign, "/".to_owned()))),
            waf_files: waf::around_server(&context.place, settings),
            mirrors: mirror::locations(&open, context.config),
            errors: errors::asked(&open, context),
            auth_location: AuthLocation::for_server(
                Host {
                    name,
                    server: &open,
                },
                context,
            ),
            locations,
            has_table: false,
            profiles: None,
        }
    }

    /// Its locations, if they are all there is of it, and each can be in a host table.
    pub(crate) fn locations_alone(&self) -> Option<&[LocationConf]> {
        let ServerConf {
            clients,
            ciphers,
            prefers_its_ciphers,
            connections,
            subject,
            app_root,
            waf_files,
            mirrors,
            errors,
            auth_location,
            locations,
            // All hosts have the same.
            settings: _,
            proxy_protocol: _,
            https_socket: _,
            http2: _,
            rejects: _,
            blocks: _,
            // In the table.
            is_default: _,
            names: _,
            is_whole: _,
            has_table: _,
            profiles: _,
        } = self;
        let has_more = clients.is_some()
            || ciphers.is_some()
            || prefers_its_ciphers.is_some()
            || *connections != ConnectionSettings::default()
            || subject.is_some()
            || app_root.is_some()
            || auth_location.is_some()
            || !(waf_files.is_empty() && mirrors.is_empty() && errors.is_empty());
        let is_alone = !has_more && locations.iter().all(|it| it.can_be_found(locations));
        is_alone.then_some(locations)
    }

    /// Serves the hosts of a table, its own among them.
    pub(crate) fn serve_table(&mut self, profiles: String) {
        self.locations.clear();
        self.profiles = Some(profiles);
    }

    /// Other hosts are in a table.
    pub(crate) fn note_table(&mut self) {
        self.has_table = true;
    }
}

/// Locations of a host, in the order of the model.
#[derive(Default)]
struct Locations<'a> {
    /// Paths of the locations, with nginx's sign for the kind of match.
    taken: BTreeSet<(&'static str, String)>,
    locations: Vec<LocationConf>,
    /// Routes that answer 503 because something of them is not supported.
    closed: BTreeSet<&'a RouteId>,
}

impl<'a> Locations<'a> {
    fn new(host: Host<'a>, context: RenderContext<'_>, unsupported: &mut Vec<Unsupported>) -> Self {
        let mut all = Locations::default();
        let mut matching = Matching::new(host.server);
        for route in &host.server.routes {
            let mut missing = checks::check_location(route, host, context);
            let is_closed = missing.iter().any(|missing| missing.closes);
            // Its requests go to the next route that takes them.
            if route.matches.is_path_only() || is_closed {
                let matches = matching.next(&route.matches.path);
                all.add(route, matches, is_closed, &mut missing, (host, context));
            }
            missing.dedup();
            unsupported.extend(missing);
        }
        all
    }

    fn add(
        &mut self,
        route: &'a HttpRoute,
        matches: Vec<(&'static str, String)>,
        is_closed: bool,
        missing: &mut Vec<Unsupported>,
        (host, context): (Host<'_>, RenderContext<'_>),
    ) {
        for (sign, path) in matches {
            // The first that matches is taken; nginx refuses to see a path twice.
            if !self.taken.insert((sign, path.clone())) {
                continue;
            }
            let render =
                |is_closed| LocationConf::new((sign, &path), route, host, context, is_closed);
            let whole = render(is_closed);
            if whole.is_none() {
                missing.push(Unsupported {
                    element: Element::Route(route.id.clone()),
                    what: "a text longer than nginx reads".into(),
                    closes: true,
                });
            }
            self.locations.extend(whole.or_else(|| render(true)));
        }
        if missing.iter().any(|missing| missing.closes) {
            self.closed.insert(&route.id);
        }
    }
}

/// The server with the locations that are not closed.
fn without<'a>(closed: &BTreeSet<&RouteId>, server: &'a Server) -> Cow<'a, Server> {
    if closed.is_empty() {
        return Cow::Borrowed(server);
    }
    let open = server
        .routes
        .iter()
        .filter(|route| !closed.contains(&route.id))
        .cloned();
    Cow::Owned(Server {
        routes: open.collect(),
        ..server.clone()
    })
}

/// Pattern of the subject. nginx answers 500 where PCRE gives up.
fn subject(clients: &ClientCertificates) -> Option<Word> {
    let pattern = clients.subject.as_deref()?;
    Some(word(sluice_pattern::pcre(pattern, Subject::Text, false)))
}

fn clients(
    host: Host<'_>,
    context: RenderContext<'_>,
) -> Option<(ClientTls, Option<DirectResponses>)> {
    let clients = host.clients()?;
    let page = clients.error_page.as_ref();
    let page = page.map(|page| DirectResponses::to_refused(page, context.global()));
    let tls = ClientTls::new(clients, context.config, context.settings)?;
    Some((tls, page))
}

/// nginx's own wildcards take any number of labels.
fn server_name(name: &ServerName) -> Word {
    match name {
        ServerName::CatchAll => word("_"),
        ServerName::Exact(name) => word(name.as_str()),
        ServerName::Wildcard(suffix) => word(format!(
            r"~^[\w-]+\.{}$",
            suffix.as_str().replace('.', r"\.")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_takes_one_label() {
        let name = server_name(&ServerName::parse("*.b.test").unwrap());
        assert_eq!(name.0.to_string(), r#""~^[\\w-]+\\.b\\.test$""#);
    }
}
