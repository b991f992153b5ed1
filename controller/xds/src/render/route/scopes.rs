//! Hosts by themselves: SRDS. A changed host is all that Envoy builds again, and a refused one is refused alone.
//!
//! ```text
//!   Host: a.example.com:80 --early mutation--> x-sluice-scope --before the colon--> scope a.example.com
//!   Host: b.example.com    --early mutation--> x-sluice-scope --> none: the filter names scope _, with all other hosts
//! ```
//!
//! Envoy compares a scope's key byte by byte and knows no default. So where it finds none, the filter is asked first, before
//! anything that a route wants, and names the scope: of the same name in lower case, or of the others. Where it finds
//! one, that filter is switched off and costs nothing.

use std::collections::{BTreeSet, HashMap};

use envoy_types::pb::envoy::config::route::v3::scoped_route_configuration::{Key, key};
use envoy_types::pb::envoy::config::route::v3::{
    FilterConfig, RouteConfiguration, ScopedRouteConfiguration, VirtualHost,
};
use envoy_types::pb::google::protobuf::Any;
use prost::Message;
use sluice_ir::{BackendId, Changed, Config, GlobalConfig, Server, ServerName, Shared, changed};

use super::table::{Table, VIRTUAL_HOSTS};
use super::{all_but_hosts, host, native};
use crate::render::LOOKUP_FILTER;
use crate::render::policy::{FIREWALL, POLICY, composites_per_route};
use crate::render::proto::{any, encoded_host};
use crate::settings::{OTHER_HOSTS, SCOPE_HEADER};
use crate::{ResourceType, Update};

/// The field `route_configuration` of a `ScopedRouteConfiguration`.
const ROUTE_CONFIGURATION: u32 = 5;

/// Scopes of a part. Each is some kilobytes before it is packed.
const PART: usize = if cfg!(test) { 2 } else { 256 };

/// Scopes as they were published last.
#[derive(Clone, Debug)]
pub(super) struct Scopes {
    servers: Shared<ServerName, Server>,
    global: GlobalConfig,
    of_all: RouteConfiguration,
    others: Table,
    rendered: u64,
}

impl Default for Scopes {
    fn default() -> Self {
        Scopes {
            servers: Shared::default(),
            global: GlobalConfig::default(),
            of_all: RouteConfiguration::default(),
            others: Table::new(|name| !name.is_exact(), with_composite_policies),
            rendered: 0,
        }
    }
}

impl Scopes {
    /// Publishes the hosts that are not as before, and those with routes to backends that `moved`.
    pub(super) fn publish(
        &mut self,
        config: &Config,
        moved: &BTreeSet<BackendId>,
        update: &mut Update,
        take: &mut dyn FnMut(Update),
    ) {
        let of_others = of_all(config);
        let of_all = RouteConfiguration {
            virtual_hosts: Vec::new(),
            ..of_others.clone()
        };
        for Changed { before, name, .. } in changed(&self.servers, &config.servers) {
            before
                .into_iter()
                .for_each(|server| withdraw(name, server, update));
        }
        native::forget_servers(&mut self.servers, moved);
        self.others.forget_routes_to(moved);
        if self.global != config.global || self.of_all != of_all {
            self.servers.clear();
            self.global = config.global.clone();
            self.of_all = of_all;
        }
        let mut part = Update::default();
        for Changed { name, now, .. } in changed(&self.servers, &config.servers) {
            let Some(server) = now else { continue };
            for name in server.names(name).filter(|name| name.is_exact()) {
                self.rendered += 1;
                let (scope, name) = (self.scope(name, server, config), name.to_string());
                part.set(ResourceType::Scope, &name, scope);
                update.forget(ResourceType::Scope, &name);
            }
            if part.changes.len() >= PART {
                take(std::mem::take(&mut part));
            }
        }
        take(part);
        self.servers = config.servers.clone();
        update.set(
            ResourceType::Scope,
            OTHER_HOSTS,
            self.others(config, of_others),
        );
    }

    /// Publishes that there are none.
    pub(super) fn withdraw(&mut self, update: &mut Update) {
        self.servers
            .iter()
            .for_each(|(name, server)| withdraw(name, server, update));
        update.remove(ResourceType::Scope, OTHER_HOSTS);
        *self = Scopes::default();
    }

    /// Number of hosts rendered since the last call.
    pub(super) fn take_rendered(&mut self) -> u64 {
        std::mem::take(&mut self.rendered) + self.others.take_rendered()
    }

    fn scope(&self, name: &ServerName, server: &Server, config: &Config) -> Vec<u8> {
        let host = with_composite_policies(host(name, server, config), &config.global);
        let routes = RouteConfiguration {
            typed_per_filter_config: without_lookup(),
            ..self.of_all.clone()
        };
        let routes = with_field(&routes, VIRTUAL_HOSTS, &encoded_host(host));
        with_field(&empty(&name.to_string()), ROUTE_CONFIGURATION, &routes)
    }

    fn others(&mut self, config: &Config, of_others: RouteConfiguration) -> Vec<u8> {
        let routes = self.others.encode(config, of_others);
        with_field(&empty(OTHER_HOSTS), ROUTE_CONFIGURATION, &routes)
    }
}

/// A message and one field more. It is kept for as long as there is a host, so there is no room behind it.
fn with_field(message: &impl Message, tag: u32, field: &Vec<u8>) -> Vec<u8> {
    let size = message.encoded_len() + prost::encoding::bytes::encoded_len(tag, field);
    let mut bytes = Vec::with_capacity(size);
    message.encode_raw(&mut bytes);
    prost::encoding::bytes::encode(tag, field, &mut bytes);
    bytes
}

/// Routes of a table, with all that routes in scopes have.
pub(super) fn as_in_scopes(table: RouteConfiguration, global: &GlobalConfig) -> RouteConfiguration {
    RouteConfiguration {
        virtual_hosts: table
            .virtual_hosts
            .into_iter()
            .map(|host| with_composite_policies(host, global))
            .collect(),
        typed_per_filter_config: without_lookup(),
        ..table
    }
}

/// A scope was found, so nothing has to name it.
fn without_lookup() -> HashMap<String, Any> {
    let found = any(FilterConfig {
        disabled: true,
        ..FilterConfig::default()
    });
    found
        .map(|off| (LOOKUP_FILTER.to_owned(), off))
        .into_iter()
        .collect()
}

/// Its policies are looked for when a request comes to them: where no scope was found in the first try, it began without a
/// route.
fn with_composite_policies(mut host: VirtualHost, global: &GlobalConfig) -> VirtualHost {
    for route in &mut host.routes {
        let filters = &mut route.typed_per_filter_config;
        let early = filters.get(POLICY);
        let composites = early.and_then(|early| composites_per_route(early, global.max_body_size));
        if let Some(composites) = composites {
            filters.extend(composites.policies.map(|it| (POLICY.to_owned(), it)));
            filters.extend(composites.firewall.map(|it| (FIREWALL.to_owned(), it)));
        }
    }
    host
}

fn withdraw(name: &ServerName, server: &Server, update: &mut Update) {
    let exact = server.names(name).filter(|name| name.is_exact());
    exact.for_each(|name| update.remove(ResourceType::Scope, &name.to_string()));
}

/// Settings of all hosts, and the virtual host of error services.
fn of_all(config: &Config) -> RouteConfiguration {
    let mut of_all = all_but_hosts(config);
    of_all
        .request_headers_to_remove
        .push(SCOPE_HEADER.to_owned());
    of_all
}

fn empty(name: &str) -> ScopedRouteConfiguration {
    let fragment = key::Fragment {
        r#type: Some(key::fragment::Type::StringKey(name.to_owned())),
    };
    ScopedRouteConfiguration {
        name: name.to_owned(),
        key: Some(Key {
            fragments: vec![fragment],
        }),
        ..ScopedRouteConfiguration::default()
    }
}
