//! Renders configurations one after the other, at the cost of what differs between them.
//!
//! ```text
//!   Config --diff--> backends, servers, Secrets, TLS settings that are not as before
//!                        |
//!        transports, firewalls (counted) --> SharedInputs: the same as before? else all servers are stale
//!                        |
//!        stale servers and those that looked at a changed backend or Secret --> Servers
//!                        |
//!        http {} without its servers: the same text? and the same blocks and profiles? --> nginx.conf of before
//! ```
//!
//! A first configuration is what differs from an empty one, so there is no second way to render.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{Backend, Changed, Config, HostTls, ServerName, changed};

use crate::context::RenderContext;
use crate::files::KeptFiles;
use crate::files::names::hash;
use crate::host_table::{RenderedTable, TableConf, TableIdentity};
use crate::http::{self, SERVERS};
use crate::servers::{PROFILES, Servers};
use crate::settings::Settings;
use crate::tracked_config::{BackendView, SharedInputs, TrackedConfig};
use crate::transports::Transports;
use crate::unsupported::Unsupported;
use crate::waf::{Firewalls, Place};
use crate::{Rendered, word_limits};

/// Renders configurations for one nginx.
#[derive(Clone, Debug)]
pub struct Renderer {
    settings: Settings,
    /// The one that was rendered last.
    config: Config,
    shared: Option<SharedInputs>,
    transports: Transports,
    firewalls: Firewalls,
    /// TLS settings that validate certificates of clients.
    validations: usize,
    servers: Servers,
    files: KeptFiles,
    conf: Conf,
}

/// nginx.conf.
#[derive(Clone, Debug, Default)]
struct Conf {
    /// The rest of it, with [`SERVERS`] in their place.
    frame: String,
    text: Arc<str>,
    /// Hash of the names of the hosts in it.
    hosts: Arc<str>,
    table: Option<TableIdentity>,
}

impl Renderer {
    /// Nothing is rendered yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Renderer {
            settings,
            config: Config::default(),
            shared: None,
            transports: Transports::default(),
            firewalls: Firewalls::default(),
            validations: 0,
            servers: Servers::default(),
            files: KeptFiles::default(),
            conf: Conf::default(),
        }
    }

    /// Settings that all configurations are rendered with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Renders a configuration: as if it was the first one, but at the cost of what is not as in the one before.
    #[must_use]
    pub fn render(&mut self, config: &Config) -> Rendered {
        let mut unsupported = Vec::new();
        let now = word_limits::apply(config, &self.settings, &mut unsupported).into_owned();
        let before = std::mem::replace(&mut self.config, now);
        self.count_transports(&before);
        let firewalls_changed = self.count_firewalls(&before);
        let shared = SharedInputs {
            global: self.config.global.clone(),
            passthrough: self.config.passthrough.clone(),
            waf: self.firewalls.sharing(&self.config, &self.settings),
            kinds: self.transports.unusual(),
        };
        let is_shared_new = self.shared.as_ref() != Some(&shared);
        self.update_files(&before);
        if firewalls_changed || is_shared_new {
            let rules = self
                .firewalls
                .files(&self.config, &shared.waf, &self.settings);
            self.files.set_rules(rules);
        }
        let stale = match is_shared_new {
            true => self.all_names(),
            false => self.stale_names(&before),
        };
        self.render_servers(&stale, &shared);
        let of_frame = self.render_frame(&shared);
        self.shared = Some(shared);
        unsupported.extend(self.servers.unsupported().cloned());
        unsupported.extend(of_frame);
        Rendered {
            text: Arc::clone(&self.conf.text),
            hosts: Arc::clone(&self.conf.hosts),
            files: self.files.files().clone(),
            table: self.table(),
            unsupported,
        }
    }

    fn count_transports(&mut self, before: &Config) {
        for Changed { before, now, .. } in changed(&before.backends, &self.config.backends) {
            now.into_iter().for_each(|it| self.transports.add(it));
            before.into_iter().for_each(|it| self.transports.remove(it));
        }
    }

    /// `true`: a server with a firewall has changed.
    fn count_firewalls(&mut self, before: &Config) -> bool {
        let mut has_changed = false;
        for Changed { name, before, now } in changed(&before.servers, &self.config.servers) {
            let [before, now] = [before, now].map(|server| server.map(AsRef::as_ref));
            has_changed |= self.firewalls.follow(name, before, now);
        }
        has_changed
    }

    fn update_files(&mut self, before: &Config) {
        for name in self.files.update(before, &self.config) {
            let has_link = self.files.links().has(&name);
            self.servers.set_certificate(&name, has_link);
        }
        let validates =
            |host: Option<&HostTls>| host.is_some_and(|host| host.client_validation.is_some());
        for Changed { before, now, .. } in changed(&before.tls, &self.config.tls) {
            self.validations += usize::from(validates(now));
            self.validations -= usize::from(validates(before));
        }
    }

    fn all_names(&self) -> BTreeSet<ServerName> {
        let known = self.servers.names().chain(self.config.servers.keys());
        known.chain([&ServerName::CatchAll]).cloned().collect()
    }

    /// Names of the servers that are not as before, or that have looked at something that is not.
    fn stale_names(&self, before: &Config) -> BTreeSet<ServerName> {
        let servers = changed(&before.servers, &self.config.servers);
        let mut stale: BTreeSet<ServerName> = servers.map(|server| server.name.clone()).collect();
        for backend in changed(&before.backends, &self.config.backends) {
            if view(backend.before) != view(backend.now) {
                stale.extend(self.servers.dependents_of_backend(backend.name).cloned());
            }
        }
        for secret in changed(&before.secrets, &self.config.secrets) {
            stale.extend(self.servers.dependents_of_secret(secret.name).cloned());
        }
        stale
    }

    fn render_servers(&mut self, stale: &BTreeSet<ServerName>, shared: &SharedInputs) {
        let tracked = TrackedConfig::new(shared, &self.config);
        let context = RenderContext {
            logs: http::logs(&self.config, &self.settings),
            config: &tracked,
            settings: &self.settings,
            place: Place::default(),
            by_table: false,
        };
        self.servers.update(stale, &self.config, context);
    }

    /// Renders what is around servers, and nginx.conf if it is not as before. Returns what is not served.
    fn render_frame(&mut self, shared: &SharedInputs) -> Vec<Unsupported> {
        let mut unsupported = Vec::new();
        let frame = http::Frame {
            config: &self.config,
            settings: &self.settings,
            tracked: &TrackedConfig::new(shared, &self.config),
            transports: &self.transports,
            needs: self.servers.needs(),
            links: self.files.links(),
            validates: self.validations > 0,
            has_table: self.servers.profiles().is_some(),
        };
        let frame = frame.render(&mut unsupported);
        let have_blocks_changed = self.servers.have_changed_in_conf();
        if have_blocks_changed || frame != self.conf.frame {
            self.conf = Conf::new(frame, &self.servers, &self.settings);
        }
        unsupported
    }

    fn table(&mut self) -> Option<RenderedTable> {
        Some(RenderedTable {
            identity: self.conf.table.clone()?,
            shards: self.servers.shard_files(),
        })
    }
}

fn view(backend: Option<&Arc<Backend>>) -> Option<BackendView<'_>> {
    backend.map(|backend| BackendView::new(backend))
}

impl Conf {
    fn new(frame: String, servers: &Servers, settings: &Settings) -> Self {
        let blocks: Vec<String> = servers
            .blocks()
            .map(|block| format!("\n{block}\n"))
            .collect();
        let without_profiles = frame.replacen(SERVERS, &blocks.concat(), 1);
        let names: Vec<String> = servers.in_conf().map(ToString::to_string).collect();
        let hosts = hash(&names.join(" "));
        let Some(profiles) = servers.profiles() else {
            return Conf {
                frame,
                text: without_profiles.into(),
                hosts: hosts.into(),
                table: None,
            };
        };
        let TableConf { name, text } = TableConf::new(profiles, &hosts, settings);
        Conf {
            text: without_profiles.replacen(PROFILES, &text, 1).into(),
            hosts: hosts.into(),
            table: Some(TableIdentity {
                name,
                profiles: profiles.used().map(|(name, _)| Arc::clone(name)).collect(),
                beside_profiles: hash(&without_profiles),
            }),
            frame,
        }
    }
}
