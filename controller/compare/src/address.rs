//! Addresses of a data plane: `--old`, `--new` and `--resolve`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// A data plane: where it takes http, and where https.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataPlane {
    http: Option<Origin>,
    https: Option<Origin>,
}

/// A host, or an address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Without the brackets of IPv6.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// An address for a name and a port, as curl's `--resolve` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolve {
    host: String,
    address: SocketAddr,
}

impl DataPlane {
    /// Parses `[http://|https://]HOST[:PORT]`, one or two of them: without a port, 80 for http and 443 for https; with a port, that
    /// of its scheme alone.
    ///
    /// # Errors
    /// When one is no such URL, or two are for the same scheme.
    pub fn parse<'u>(urls: impl IntoIterator<Item = &'u str>) -> Result<DataPlane, String> {
        let mut plane = DataPlane::default();
        for url in urls {
            let (scheme, origin) = parse(url)?;
            let for_both = origin.port == 0;
            for (name, usual, slot) in [
                ("http", 80, &mut plane.http),
                ("https", 443, &mut plane.https),
            ] {
                if !for_both && scheme != name {
                    continue;
                }
                let port = if for_both { usual } else { origin.port };
                let origin = Origin {
                    port,
                    ..origin.clone()
                };
                if slot.replace(origin).is_some() {
                    return Err(format!(
                        "expected one URL for {name}, got {url:?} beside another"
                    ));
                }
            }
        }
        if plane == DataPlane::default() {
            return Err("expected a URL".to_owned());
        }
        Ok(plane)
    }

    /// The origin of requests of a scheme.
    #[must_use]
    pub fn of_scheme(&self, scheme: &str) -> Option<&Origin> {
        match scheme {
            "https" => self.https.as_ref(),
            _ => self.http.as_ref(),
        }
    }
}

impl DataPlane {
    /// True if this is about one of its origins.
    #[must_use]
    pub fn is_resolved_by(&self, resolve: &Resolve) -> bool {
        let mut origins = self.http.iter().chain(&self.https);
        origins.any(|origin| resolve.of(origin).is_some())
    }
}

impl fmt::Display for DataPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let both = [("http", &self.http), ("https", &self.https)];
        let named = both.iter().filter_map(|(scheme, origin)| {
            let Origin { host, port } = (*origin).as_ref()?;
            let brackets = if host.contains(':') {
                ("[", "]")
            } else {
                ("", "")
            };
            Some(format!(
                "{scheme}://{}{host}{}:{port}",
                brackets.0, brackets.1
            ))
        });
        f.write_str(&named.collect::<Vec<_>>().join(" "))
    }
}

/// Port 0: none is written.
fn parse(url: &str) -> Result<(String, Origin), String> {
    let error = || format!("expected [http://|https://]HOST[:PORT], got {url:?}");
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if !(scheme == "http" || scheme == "https") || authority.contains(['/', '?', '#', '@']) {
        return Err(error());
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(address) => {
            let (address, rest) = address.split_once(']').ok_or_else(error)?;
            (
                address,
                rest.strip_prefix(':')
                    .or(rest.is_empty().then_some(""))
                    .ok_or_else(error)?,
            )
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let port = match port {
        "" => 0,
        port => port
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(error)?,
    };
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.is_empty() || !host.chars().all(is_host) {
        return Err(error());
    }
    Ok((
        scheme,
        Origin {
            host: host.to_ascii_lowercase(),
            port,
        },
    ))
}

impl Resolve {
    /// Parses `HOST:PORT:ADDRESS`; an IPv6 address may have brackets.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Resolve, String> {
        let found = text.split_once(':').and_then(|(host, rest)| {
            let (port, address) = rest.split_once(':')?;
            let bare = address
                .strip_prefix('[')
                .and_then(|it| it.strip_suffix(']'));
            let address: IpAddr = bare.unwrap_or(address).parse().ok()?;
            let address = SocketAddr::new(address, port.parse().ok()?);
            (!host.is_empty()).then(|| Resolve {
                host: host.to_ascii_lowercase(),
                address,
            })
        });
        found.ok_or_else(|| format!("expected HOST:PORT:ADDRESS, got {text:?}"))
    }

    /// The address of an origin, if this is about it.
    #[must_use]
    pub fn of(&self, origin: &Origin) -> Option<SocketAddr> {
        let is_it = self.host == origin.host && self.address.port() == origin.port;
        is_it.then_some(self.address)
    }
}

impl fmt::Display for Resolve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resolve { host, address } = self;
        write!(f, "{host}:{}:{}", address.port(), address.ip())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(urls: &[&str]) -> Result<String, String> {
        DataPlane::parse(urls.iter().copied()).map(|plane| plane.to_string())
    }

    #[test]
    fn a_url_without_a_port_is_for_both_schemes() {
        let both = Ok("http://a.b:80 https://a.b:443".to_owned());
        assert_eq!(plane(&["a.b"]), both);
        assert_eq!(plane(&["https://A.b/"]), both);
        assert_eq!(
            plane(&["127.0.0.1:8080"]),
            Ok("http://127.0.0.1:8080".to_owned())
        );
        assert_eq!(
            plane(&["https://[::1]:8443", "http://[::1]:8080"]),
            Ok("http://[::1]:8080 https://[::1]:8443".to_owned())
        );
    }

    #[test]
    fn what_is_no_url_of_a_data_plane_is_refused() {
        for urls in [
            &["ftp://a"][..],
            &["http://"],
            &["http://a/b"],
            &["a:b"],
            &["a:0"],
            &["u@a"],
            &["[::1"],
            &["a b"],
            &["a", "b:80"],
            &["https://a:1", "https://a:2"],
            &[],
        ] {
            assert!(plane(urls).is_err(), "{urls:?}");
        }
    }

    #[test]
    fn a_name_is_resolved_for_its_port() {
        let origin = |host: &str, port| Origin {
            host: host.to_owned(),
            port,
        };
        let resolve = Resolve::parse("A.b:443:127.0.0.9").unwrap();
        assert_eq!(
            resolve.of(&origin("a.b", 443)),
            Some("127.0.0.9:443".parse().unwrap())
        );
        assert_eq!(resolve.of(&origin("a.b", 80)), None);
        assert_eq!(resolve.of(&origin("c", 443)), None);
        assert!(Resolve::parse("a:1:[::1]").is_ok() && Resolve::parse("a:1:::1").is_ok());
        for text in ["", "a", "a:1", "a:x:::1", "a:1:b", ":1:::1"] {
            assert!(Resolve::parse(text).is_err(), "{text}");
        }
    }
}
