//! Hosts that nginx.conf does not name. Its catch-all server has a named location for each profile, and our module finds hosts and
//! paths in a table (`nginx-wasm/host-table`): a new one needs no reload unless its profile is new, too.
//!
//! A host is in the table if nginx.conf would have nothing of it but locations for exact paths and prefixes. What stands
//! beside locations (client certificates, mirrors, error services ...) keeps a host in nginx.conf, and so does a pattern.
//! If the catch-all host cannot be in the table, none is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use askama::Template;
use sluice_host_table::{HostTable, NOWHERE, PathEntry};
use sluice_ir::{Config, HttpRoute, PathMatch, Server, ServerName};

use crate::conf::{Word, word};
use crate::context::RenderContext;
use crate::files::cert_links;
use crate::files::names::hash;
use crate::location::LocationConf;
use crate::server::ServerConf;
use crate::unsupported::Unsupported;

/// A table, for its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedTable {
    /// The configuration that it goes with.
    pub identity: TableIdentity,
    /// [`HostTable`], as JSON.
    pub text: String,
}

/// The configuration that a table goes with. Workers of an nginx.conf with other profiles or hosts read another file, so that none
/// finds a location that it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableIdentity {
    /// The file, in [`Settings::hosts`](crate::Settings::hosts).
    pub name: String,
    /// Named locations of nginx.conf that it leads to.
    pub profiles: BTreeSet<String>,
    /// Hash of nginx.conf without them.
    pub beside_profiles: String,
}

impl TableIdentity {
    /// True if an nginx that has loaded the configuration of that table can serve this one: it has all profiles, and more at most.
    #[must_use]
    pub fn is_served_with(&self, loaded: &TableIdentity) -> bool {
        self.beside_profiles == loaded.beside_profiles && self.profiles.is_subset(&loaded.profiles)
    }
}

/// The part of the catch-all server that serves the hosts of a table.
#[derive(Template)]
#[template(path = "server/profiles.conf")]
struct ProfilesConf {
    file: Word,
    nowhere: &'static str,
    /// Named locations: their names, and the directives between their braces.
    locations: Vec<(Word, String)>,
}

/// Everything that nginx has of a table.
pub(crate) struct TableConf {
    name: String,
    text: String,
    names: BTreeSet<String>,
    /// In nginx.conf.
    profiles: String,
}

impl TableConf {
    /// The file beside this nginx.conf.
    pub(crate) fn beside(self, conf: &str) -> RenderedTable {
        RenderedTable {
            identity: TableIdentity {
                name: self.name,
                profiles: self.names,
                beside_profiles: hash(&conf.replacen(&self.profiles, "", 1)),
            },
            text: self.text,
        }
    }
}

/// All servers, the catch-all one first, and the table of the hosts that are in none.
pub(crate) fn servers<'a>(
    all: &[(&ServerName, &Server)],
    context: RenderContext<'a>,
    unsupported: &mut Vec<Unsupported>,
) -> (Vec<ServerConf<'a>>, Option<TableConf>) {
    let mut table = TableBuilder::default();
    let mut servers = Vec::new();
    for (name, server) in servers_in_conf(all, context, &mut table) {
        servers.push(ServerConf::new(name, server, context, unsupported));
    }
    unsupported.append(&mut table.unsupported);
    let rendered = table.rendered(&mut servers, context);
    (servers, rendered)
}

/// Servers that stay in nginx.conf; the others are put into the table.
fn servers_in_conf<'s>(
    all: &[(&'s ServerName, &'s Server)],
    context: RenderContext<'_>,
    table: &mut TableBuilder,
) -> Vec<(&'s ServerName, &'s Server)> {
    let has_catch_all = |table: &mut TableBuilder| {
        let catch_all = all.iter().find(|(name, _)| **name == ServerName::CatchAll);
        catch_all.is_some_and(|(name, server)| table.try_insert(name, server, context))
    };
    if !context.may_use_host_table() || !has_catch_all(table) {
        return all.to_vec();
    }
    // nginx looks for its own wildcards, also those of other hosts, before the module is asked.
    let is_wildcard = |name: &ServerName| matches!(name, ServerName::Wildcard(_));
    let others = all.iter().filter(|(_, server)| !may_be_in(server));
    let aliases = others.flat_map(|(_, server)| &server.aliases).cloned();
    let mut kept: BTreeSet<ServerName> = aliases.filter(is_wildcard).collect();
    for (name, server) in all.iter().filter(|(name, _)| is_wildcard(name)) {
        if !table.try_insert(name, server, context) {
            kept.insert((*name).clone());
        }
    }
    for (name, server) in all {
        let wildcard = name.wildcard_suffix().map(ServerName::Wildcard);
        let is_covered = wildcard.is_some_and(|wildcard| kept.contains(&wildcard));
        let is_exact = matches!(name, ServerName::Exact(_));
        if is_exact && (is_covered || !table.try_insert(name, server, context)) {
            kept.insert((*name).clone());
        }
    }
    let stays = |name: &ServerName| *name == ServerName::CatchAll || kept.contains(name);
    all.iter()
        .filter(|(name, _)| stays(name))
        .copied()
        .collect()
}

/// A table in the making.
#[derive(Default)]
struct TableBuilder {
    hosts: BTreeMap<String, Vec<PathEntry>>,
    /// Names of profiles by what is between their braces.
    profiles: HashMap<String, String>,
    unsupported: Vec<Unsupported>,
}

impl TableBuilder {
    /// Takes a host; `false`: it has to be in nginx.conf.
    fn try_insert(
        &mut self,
        name: &ServerName,
        server: &Server,
        context: RenderContext<'_>,
    ) -> bool {
        if !may_be_in(server) {
            return false;
        }
        let mut unsupported = Vec::new();
        let context = RenderContext {
            by_table: true,
            ..context
        };
        let conf = ServerConf::new(name, server, context, &mut unsupported);
        let Some(locations) = conf.locations_alone() else {
            return false;
        };
        let entries = locations.iter().filter_map(|location| self.entry(location));
        let entries: Vec<PathEntry> = entries.collect();
        let key = match name {
            ServerName::CatchAll => String::new(),
            name => name.to_string(),
        };
        self.hosts.insert(key, entries);
        self.unsupported.extend(unsupported);
        true
    }

    fn entry(&mut self, location: &LocationConf) -> Option<PathEntry> {
        let mut entry = location.entry.clone()?;
        // Nothing in the templates can fail, and a String takes everything.
        let text = location.render().unwrap_or_default();
        let profile = self.profiles.entry(text);
        let name = profile.or_insert_with_key(|text| format!("@sluice_profile_{}", hash(text)));
        entry.profile.clone_from(name);
        Some(entry)
    }

    /// Puts the profiles into the catch-all server, the first one; `None`: no host is in a table.
    fn rendered(
        self,
        servers: &mut [ServerConf<'_>],
        context: RenderContext<'_>,
    ) -> Option<TableConf> {
        let catch_all = servers.first_mut().filter(|_| !self.hosts.is_empty())?;
        let profiles = self.profiles.into_iter();
        let profiles: BTreeMap<String, String> =
            profiles.map(|(text, name)| (name, text)).collect();
        let names: BTreeSet<String> = profiles.keys().cloned().collect();
        let all = context.config.servers.keys().map(ServerName::to_string);
        let others = all.filter(|name| !self.hosts.contains_key(name));
        let told_apart: Vec<String> = names.iter().cloned().chain(others).collect();
        let name = format!("{}.json", hash(&told_apart.join(" ")));
        let locations = profiles.into_iter();
        let conf = ProfilesConf {
            file: word(context.settings.hosts().join(&name).display()),
            nowhere: NOWHERE,
            locations: locations.map(|(name, text)| (word(name), text)).collect(),
        };
        let profiles = conf.render().unwrap_or_default();
        catch_all.serve_table(profiles.clone());
        servers.iter_mut().for_each(ServerConf::note_table);
        Some(TableConf {
            name,
            text: HostTable::new(self.hosts, certificates(context.config)).to_json(),
            names,
            profiles,
        })
    }
}

/// Links of all names that have one, and of all others.
fn certificates(config: &Config) -> BTreeMap<String, String> {
    let names = cert_links::hosts(config).into_iter();
    let named = names.map(|name| (name.to_string(), cert_links::link_name(name)));
    let others = (String::new(), cert_links::link_name(&ServerName::CatchAll));
    named.chain([others]).collect()
}

/// False if a look at its settings says that it cannot be in a table; the rest is seen when it is rendered.
fn may_be_in(server: &Server) -> bool {
    let Server {
        aliases,
        client_certificates,
        routes,
        // In the rendered server.
        app_root: _,
        ciphers: _,
        prefer_server_ciphers: _,
        header_room: _,
    } = server;
    let is_pattern = |route: &HttpRoute| matches!(route.matches.path, PathMatch::Regex(_));
    aliases.is_empty() && client_certificates.is_none() && !routes.iter().any(is_pattern)
}
