//! nginx's variables, as a request of each data plane says them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use sluice_filter_config::HashKey;
use sluice_filter_core::{Fact, Key};

use super::case::Cannot;
use crate::fake::{Personality, Request};

/// Values by name, without `$`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// A request for this path and query.
    pub(super) fn of_uri(uri: &str) -> Variables {
        let (path, args) = uri.split_once('?').unwrap_or((uri, ""));
        let pairs = [("request_uri", uri), ("uri", path), ("args", args)];
        Variables(
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        )
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Those that no request can answer but that a case gives a value.
    pub(super) fn beyond_reach(&self, expression: &str) -> Option<Cannot> {
        let (_, unknown) = HashKey::parse(expression);
        let names = unknown.iter().map(ToString::to_string);
        let given = |text: &String| {
            let name = text
                .rsplit_once('$')
                .map_or(text.as_str(), |(_, name)| name);
            self.0.contains_key(name)
        };
        names
            .into_iter()
            .find(given)
            .map(|text| Cannot(format!("docs/hash-variables.md: {text}")))
    }

    /// A request that has these variables: in nginx they are there, elsewhere they follow from the request.
    pub(super) fn request(&self, personality: Personality) -> Request {
        let mut request = Request::default();
        if personality == Personality::Nginx {
            let property = |(name, value): (&String, &String)| {
                (
                    format!("ngx.{name}").into_bytes(),
                    value.clone().into_bytes(),
                )
            };
            request.properties = self.0.iter().map(property).collect();
        }
        let headers = [":method", ":path", ":authority", "cookie"].into_iter();
        let others = self.0.keys().filter_map(|name| name.strip_prefix("http_"));
        let names = headers
            .map(str::to_owned)
            .chain(others.map(|name| name.replace('_', "-")));
        request.headers = names
            .filter_map(|name| Some((name.clone().into_bytes(), self.header(&name)?.into_bytes())))
            .collect();
        for (path, fact) in FACTS {
            request.properties.extend(
                self.fact(fact)
                    .map(|value| (path.to_vec(), value.into_bytes())),
            );
        }
        request
    }

    fn header(&self, name: &str) -> Option<String> {
        let named = |prefix: &str| {
            let pairs = self
                .0
                .iter()
                .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?, value)));
            pairs
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
        };
        match name {
            ":method" => self.value("request_method").map(str::to_owned),
            ":authority" => self
                .value("http_host")
                .or(self.value("host"))
                .map(str::to_owned),
            ":path" => self.value("request_uri").map(str::to_owned).or_else(|| {
                let path = self.value("uri").or(self.value("document_uri"))?;
                let mut query = named("arg_");
                query.extend(
                    self.value("args")
                        .or(self.value("query_string"))
                        .map(str::to_owned),
                );
                query.retain(|part| !part.is_empty());
                Some(if query.is_empty() {
                    path.to_owned()
                } else {
                    format!("{path}?{}", query.join("&"))
                })
            }),
            "cookie" => Some(named("cookie_").join("; ")).filter(|cookies| !cookies.is_empty()),
            name => self
                .value(&format!("http_{}", name.replace('-', "_")))
                .map(str::to_owned),
        }
    }

    fn fact(&self, fact: Fact) -> Option<String> {
        let at = |address: &str, port: &str| {
            let address = self.value(address)?;
            let port = self.value(port).unwrap_or("40000");
            Some(if address.contains(':') {
                format!("[{address}]:{port}")
            } else {
                format!("{address}:{port}")
            })
        };
        match fact {
            Fact::ClientAddress => at("remote_addr", "remote_port"),
            Fact::ServerAddress => at("server_addr", "server_port"),
            Fact::ServerName => self.value("server_name").map(str::to_owned),
            Fact::Tls => {
                let is_tls =
                    self.value("https") == Some("on") || self.value("scheme") == Some("https");
                is_tls.then(|| "TLSv1.3".to_owned())
            }
            Fact::ServerNameIndication => self.value("ssl_server_name").map(str::to_owned),
            Fact::Protocol => self.value("server_protocol").map(str::to_owned),
        }
    }
}

/// Envoy's properties for variables that are not in headers.
const FACTS: [(&[u8], Fact); 6] = [
    (b"source\0address", Fact::ClientAddress),
    (b"destination\0address", Fact::ServerAddress),
    (b"xds\0virtual_host_name", Fact::ServerName),
    (b"connection\0tls_version", Fact::Tls),
    (
        b"connection\0requested_server_name",
        Fact::ServerNameIndication,
    ),
    (b"request\0protocol", Fact::Protocol),
];

impl sluice_filter_core::Request for Variables {
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        Variables::header(self, name).map(|value| Cow::Owned(value.into_bytes()))
    }

    fn fact(&self, fact: Fact) -> Option<Cow<'_, [u8]>> {
        Variables::fact(self, fact).map(|value| Cow::Owned(value.into_bytes()))
    }
}

/// The value of a key for a request.
pub(super) fn evaluate(key: &HashKey, variables: &Variables) -> String {
    let mut value = Vec::new();
    Key::from(key).evaluate(variables, &mut value);
    String::from_utf8_lossy(&value).into_owned()
}
