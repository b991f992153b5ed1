//! The rendering of one server, as it is kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;
use sluice_host_table::PathEntry;
use sluice_ir::{HttpRoute, PathMatch, Server, ServerName};

use crate::context::RenderContext;
use crate::host_table::profiles::Profiles;
use crate::http::needs::Needs;
use crate::server::ServerConf;
use crate::tracked_config::Lookups;
use crate::unsupported::Unsupported;

/// Stands in the block of the catch-all server for the locations of the table. No text that is rendered has a control character in it.
pub(crate) const PROFILES: &str = "\u{2}";

/// A server.
#[derive(Clone, Debug, Default)]
pub(super) struct RenderedServer {
    /// `None`: it has to be in nginx.conf.
    pub(super) entries: Option<Entries>,
    /// Rendered when nginx.conf has it.
    pub(super) block: Option<Block>,
    /// In `http {}`.
    pub(super) needs: Needs,
    /// Backends and Secrets that the rendering has looked at; a change of one makes it stale.
    pub(super) lookups: Lookups,
    pub(super) is_in_table: bool,
}

/// A server in the host table.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    pub(super) paths: Vec<PathEntry>,
    pub(super) profiles: BTreeSet<Arc<str>>,
    pub(super) unsupported: Vec<Unsupported>,
}

/// A server in nginx.conf.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) text: String,
    pub(super) unsupported: Vec<Unsupported>,
}

impl RenderedServer {
    pub(super) fn new(
        name: &ServerName,
        server: &Server,
        context: RenderContext<'_>,
        profiles: &mut Profiles,
    ) -> Self {
        let entries = Entries::new(name, server, context, profiles);
        RenderedServer {
            needs: Needs::of_server(server, context.config, context.settings),
            entries,
            block: None,
            lookups: context.config.take_lookups(),
            is_in_table: false,
        }
    }
}

impl Entries {
    fn new(
        name: &ServerName,
        server: &Server,
        context: RenderContext<'_>,
        profiles: &mut Profiles,
    ) -> Option<Self> {
        if !context.may_use_host_table() || !may_be_in_table(server) {
            return None;
        }
        let mut unsupported = Vec::new();
        let context = RenderContext {
            by_table: true,
            ..context
        };
        let conf = ServerConf::new(name, server, context, &mut unsupported);
        let (mut paths, mut used) = (Vec::new(), BTreeSet::new());
        for location in conf.locations_alone()? {
            let Some(mut entry) = location.entry.clone() else {
                continue;
            };
            // Nothing in the templates can fail, and a String takes everything.
            let profile = profiles.name(location.render().unwrap_or_default());
            profile.as_ref().clone_into(&mut entry.profile);
            used.insert(profile);
            paths.push(entry);
        }
        Some(Entries {
            paths,
            profiles: used,
            unsupported,
        })
    }
}

impl Block {
    /// `has_table`: hosts are in a table, the catch-all host among them.
    pub(super) fn new(
        name: &ServerName,
        server: &Server,
        context: RenderContext<'_>,
        has_table: bool,
    ) -> Self {
        let mut unsupported = Vec::new();
        let mut conf = ServerConf::new(name, server, context, &mut unsupported);
        if has_table {
            conf.note_table();
        }
        if has_table && *name == ServerName::CatchAll {
            conf.serve_table(PROFILES.to_owned());
            // Its paths are in the table, and what they lack is said there.
            unsupported.clear();
        }
        Block {
            text: conf.render().unwrap_or_default(),
            unsupported,
        }
    }
}

/// False if a look at its settings says that it cannot be in a table; the rest is seen when it is rendered.
fn may_be_in_table(server: &Server) -> bool {
    let Server {
        aliases,
        client_certificates,
        routes,
        // In the rendered server.
        app_root: _,
        ciphers: _,
        prefer_server_ciphers: _,
        connections: _,
    } = server;
    let is_pattern = |route: &HttpRoute| matches!(route.matches.path, PathMatch::Regex(_));
    aliases.is_empty() && client_certificates.is_none() && !routes.iter().any(is_pattern)
}
