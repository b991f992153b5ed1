//! The renderings of all servers, in nginx.conf or in the host table. Those of servers that did not change are kept.
//!
//! ```text
//!   stale names --- RenderedServer::new ---> entries for the table, if it can be there; needs in http {}; lookups
//!        |                                       |
//!        \--- place: nginx.conf <---------------+----> a shard of the table, and its profiles
//! ```

mod dependents;
mod rendered_server;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use sluice_ir::{BackendId, Config, SecretId, Server, ServerName};

use crate::context::RenderContext;
use crate::host_table::profiles::Profiles;
use crate::host_table::{ShardFile, Shards};
use crate::http::needs::{AllNeeds, Needs};
use crate::unsupported::Unsupported;
use dependents::Dependents;
use rendered_server::{Block, RenderedServer};

pub(crate) use rendered_server::PROFILES;

/// All servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Servers {
    rendered: BTreeMap<ServerName, RenderedServer>,
    dependents: Dependents,
    needs: AllNeeds,
    profiles: Profiles,
    shards: Shards,
    /// Those that cannot be in the table.
    outside: BTreeSet<ServerName>,
    /// Wildcards that nginx itself looks for.
    wildcards_in_conf: BTreeSet<ServerName>,
    /// Those that nginx.conf has.
    in_conf: BTreeSet<ServerName>,
    /// Those of which something is not served.
    unsupported: BTreeSet<ServerName>,
    has_table: bool,
    /// Blocks of nginx.conf that were taken out since the last look.
    former_blocks: BTreeMap<ServerName, Option<String>>,
}

impl Servers {
    pub(crate) fn names(&self) -> impl Iterator<Item = &ServerName> {
        self.rendered.keys()
    }

    pub(crate) fn dependents_of_backend(
        &self,
        id: &BackendId,
    ) -> impl Iterator<Item = &ServerName> {
        self.dependents.of_backend(id)
    }

    pub(crate) fn dependents_of_secret(&self, id: &SecretId) -> impl Iterator<Item = &ServerName> {
        self.dependents.of_secret(id)
    }

    /// Renders the servers with these names again. Those that the configuration does not have are gone; the catch-all server is always
    /// there.
    pub(crate) fn update(
        &mut self,
        stale: &BTreeSet<ServerName>,
        config: &Config,
        context: RenderContext<'_>,
    ) {
        let mut is_outside_stale = false;
        for name in stale {
            is_outside_stale |= self.remove(name);
            if let Some(server) = server(name, config) {
                is_outside_stale |= self.insert(name, server, context);
            }
        }
        let all = self.is_arrangement_new(is_outside_stale, config);
        let names: Vec<ServerName> = match all {
            true => self.rendered.keys().cloned().collect(),
            false => stale.iter().cloned().collect(),
        };
        for name in &names {
            if all {
                self.take_out(name);
            }
            self.place(name, config, context);
        }
    }

    /// Forgets a server; `true` if it was outside of the table.
    fn remove(&mut self, name: &ServerName) -> bool {
        self.take_out(name);
        let Some(rendered) = self.rendered.remove(name) else {
            return false;
        };
        self.dependents.remove(name, &rendered.lookups);
        self.needs.remove(&rendered.needs);
        if let Some(entries) = &rendered.entries {
            self.profiles.forget(&entries.profiles);
        }
        self.outside.remove(name)
    }

    /// Adds a server; `true` if it is outside of the table.
    fn insert(&mut self, name: &ServerName, server: &Server, context: RenderContext<'_>) -> bool {
        let rendered = RenderedServer::new(name, server, context, &mut self.profiles);
        self.dependents.add(name, &rendered.lookups);
        self.needs.add(&rendered.needs);
        let is_outside = rendered.entries.is_none();
        if let Some(entries) = &rendered.entries {
            self.profiles.keep(&entries.profiles);
        } else {
            self.outside.insert(name.clone());
        }
        self.rendered.insert(name.clone(), rendered);
        is_outside
    }

    /// Decides whether there is a table, and which wildcards nginx.conf has; `true` if that is not as before.
    fn is_arrangement_new(&mut self, is_outside_stale: bool, config: &Config) -> bool {
        let has_table = !self.outside.contains(&ServerName::CatchAll);
        let mut is_new = std::mem::replace(&mut self.has_table, has_table) != has_table;
        if has_table && (is_outside_stale || is_new) {
            // nginx looks for its own wildcards, also those of other hosts, before the module is asked.
            let is_wildcard = |name: &&ServerName| matches!(name, ServerName::Wildcard(_));
            let names = self.outside.iter().filter_map(|name| {
                let server = config.servers.get(name)?;
                Some(server.names(name))
            });
            let wildcards = names.flatten().filter(is_wildcard).cloned().collect();
            is_new |= self.wildcards_in_conf != wildcards;
            self.wildcards_in_conf = wildcards;
        }
        is_new
    }

    /// Takes a server out of nginx.conf and out of the table.
    fn take_out(&mut self, name: &ServerName) {
        let Some(rendered) = self.rendered.get_mut(name) else {
            return;
        };
        if self.in_conf.remove(name) {
            let text = rendered.block.take().map(|block| block.text);
            self.former_blocks.entry(name.clone()).or_insert(text);
        }
        if std::mem::take(&mut rendered.is_in_table) {
            self.shards.set_host(name, false);
            let entries = rendered.entries.iter();
            entries.for_each(|entries| self.profiles.set_in_table(&entries.profiles, false));
        }
        self.unsupported.remove(name);
    }

    /// Puts a server into nginx.conf or into the table; the catch-all server into both, if there is a table.
    fn place(&mut self, name: &ServerName, config: &Config, context: RenderContext<'_>) {
        let stays = self.stays_in_conf(name);
        let Some((rendered, server)) = self.rendered.get_mut(name).zip(server(name, config)) else {
            return;
        };
        let mut is_supported = true;
        if stays {
            let block = Block::new(name, server, context, self.has_table);
            is_supported &= block.unsupported.is_empty();
            rendered.block = Some(block);
            // Of the entries and of the block.
            let lookups = context.config.take_lookups();
            self.dependents.add(name, &lookups);
            rendered.lookups.merge(lookups);
            self.in_conf.insert(name.clone());
            self.former_blocks.entry(name.clone()).or_insert(None);
        }
        let is_in_table = self.has_table && (!stays || *name == ServerName::CatchAll);
        if let Some(entries) = rendered.entries.as_ref().filter(|_| is_in_table) {
            rendered.is_in_table = true;
            is_supported &= entries.unsupported.is_empty();
            self.profiles.set_in_table(&entries.profiles, true);
            self.shards.set_host(name, true);
        }
        if !is_supported {
            self.unsupported.insert(name.clone());
        }
    }

    fn stays_in_conf(&self, name: &ServerName) -> bool {
        let wildcard = name.wildcard_suffix().map(ServerName::Wildcard);
        !self.has_table
            || *name == ServerName::CatchAll
            || self.outside.contains(name)
            || self.wildcards_in_conf.contains(name)
            || wildcard.is_some_and(|wildcard| self.wildcards_in_conf.contains(&wildcard))
    }

    /// True if nginx.conf has other blocks or other profiles than at the last look.
    pub(crate) fn have_changed_in_conf(&mut self) -> bool {
        let mut former = std::mem::take(&mut self.former_blocks).into_iter();
        let others = former.any(|(name, text)| self.block(&name) != text.as_deref());
        // Both have to be looked at.
        self.profiles.have_changed() || others
    }

    fn block(&self, name: &ServerName) -> Option<&str> {
        let block = self.rendered.get(name)?.block.as_ref();
        block.map(|block| block.text.as_str())
    }

    /// Blocks of nginx.conf. That of the catch-all server, the first one, has [`PROFILES`] in it if there is a table.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &str> {
        self.in_conf.iter().filter_map(|name| self.block(name))
    }

    /// Names of the hosts in nginx.conf, but for the catch-all host.
    pub(crate) fn in_conf(&self) -> impl Iterator<Item = &ServerName> {
        let names = self.in_conf.iter();
        names.filter(|name| **name != ServerName::CatchAll)
    }

    /// Profiles of the table; `None`: there is no table.
    pub(crate) fn profiles(&self) -> Option<&Profiles> {
        self.has_table.then_some(&self.profiles)
    }

    /// Files of the table.
    pub(crate) fn shard_files(&mut self) -> Vec<Arc<ShardFile>> {
        let Servers {
            rendered, shards, ..
        } = self;
        shards.files(|name| {
            let entries = rendered.get(name)?.entries.as_ref()?;
            Some(entries.paths.as_slice())
        })
    }

    /// A name has a certificate link, or has none.
    pub(crate) fn set_certificate(&mut self, name: &ServerName, is_in: bool) {
        self.shards.set_certificate(name, is_in);
    }

    pub(crate) fn needs(&self) -> Needs {
        self.needs.merged()
    }

    /// Everything of servers that is not served as written.
    pub(crate) fn unsupported(&self) -> impl Iterator<Item = &Unsupported> {
        let rendered = self.unsupported.iter();
        let rendered = rendered.filter_map(|name| self.rendered.get(name));
        rendered.flat_map(|rendered| {
            let in_table = rendered.entries.iter().filter(|_| rendered.is_in_table);
            let in_table = in_table.flat_map(|entries| &entries.unsupported);
            let in_conf = rendered.block.iter().flat_map(|block| &block.unsupported);
            in_conf.chain(in_table)
        })
    }
}

/// A server; the catch-all one is there whether the model has it or not.
fn server<'a>(name: &ServerName, config: &'a Config) -> Option<&'a Server> {
    static DEFAULT: LazyLock<Server> = LazyLock::new(Server::default);
    let server = config.servers.get(name).map(AsRef::as_ref);
    server.or_else(|| (*name == ServerName::CatchAll).then(|| &*DEFAULT))
}
