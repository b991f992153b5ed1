//! One host.

use std::collections::BTreeSet;

use askama::Template;
use sluice_ir::{Action, Config, LocationId, Server, ServerName, Transport};

use crate::conf::{Value, Word, word};
use crate::location::{LocationConf, matches};
use crate::redirect;
use crate::settings::Settings;

/// `server {}`.
#[derive(Template)]
#[template(path = "server.conf")]
pub(crate) struct ServerConf<'a> {
    settings: &'a Settings,
    /// Words after the address.
    is_default: bool,
    proxy_protocol: bool,
    http2: bool,
    names: Vec<Word>,
    app_root: Option<Value>,
    locations: Vec<LocationConf>,
    /// Something takes every path.
    is_whole: bool,
}

impl<'a> ServerConf<'a> {
    pub(crate) fn new(
        name: &ServerName,
        server: &Server,
        config: &Config,
        settings: &'a Settings,
        refused: &mut Vec<LocationId>,
    ) -> Self {
        let mut taken = BTreeSet::new();
        let mut locations = Vec::new();
        for location in &server.locations {
            let transport = match &location.action {
                Action::Forward(id) => config.backends.get(id).map(|backend| backend.transport.clone()),
                Action::Denied | Action::Redirect(_) => None,
            };
            for (sign, path) in matches(&location.path) {
                // The first that matches is taken; nginx refuses to see a path twice.
                if !taken.insert((sign, path.clone())) {
                    continue;
                }
                let transport: Transport = transport.clone().unwrap_or_default();
                match LocationConf::new((sign, &path), location, name, transport) {
                    Some(made) => locations.push(made),
                    None if refused.contains(&location.id) => {}
                    None => refused.push(location.id.clone()),
                }
            }
        }
        ServerConf {
            settings,
            is_default: *name == ServerName::CatchAll,
            proxy_protocol: config.edge.forwarded.proxy_protocol,
            http2: config.edge.http.http2,
            names: std::iter::once(name).chain(&server.aliases).map(server_name).collect(),
            app_root: server.app_root.as_deref().map(redirect::app_root),
            is_whole: taken.contains(&("", "/".to_owned())),
            locations,
        }
    }
}

/// nginx's own wildcards take any number of labels.
fn server_name(name: &ServerName) -> Word {
    match name {
        ServerName::CatchAll => word("_"),
        ServerName::Exact(name) => word(name.as_str()),
        ServerName::Wildcard(suffix) => word(format!(r"~^[\w-]+\.{}$", suffix.as_str().replace('.', r"\."))),
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
