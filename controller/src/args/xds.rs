//! Addresses of the xDS server: to listen on, and to connect to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::envoy::HostPort;

const SOCKET: &str = "unix:";

/// Address that the controller listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// Address that a data plane connects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectAddress {
    Unix(PathBuf),
    Tcp(HostPort),
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match socket(text)? {
            Some(path) => Ok(ListenAddress::Unix(path)),
            None => tcp(text)
                .map(ListenAddress::Tcp)
                .ok_or_else(|| "expected unix:PATH, IP:PORT or :PORT".to_owned()),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Unix(path) => write!(f, "{SOCKET}{}", path.display()),
            ListenAddress::Tcp(address) => write!(f, "{address}"),
        }
    }
}

impl FromStr for ConnectAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match socket(text)? {
            Some(path) => Ok(ConnectAddress::Unix(path)),
            None => text
                .parse()
                .map(ConnectAddress::Tcp)
                .map_err(|error: String| format!("{error} or unix:PATH")),
        }
    }
}

/// Without an IP: all addresses, those of IPv4 among them where the machine has IPv6.
fn tcp(text: &str) -> Option<SocketAddr> {
    let Some(port) = text.strip_prefix(':') else {
        return text.parse().ok();
    };
    let all: IpAddr = match super::has_ipv6() {
        true => Ipv6Addr::UNSPECIFIED.into(),
        false => Ipv4Addr::UNSPECIFIED.into(),
    };
    Some(SocketAddr::new(all, port.parse().ok()?))
}

fn socket(text: &str) -> Result<Option<PathBuf>, String> {
    let Some(path) = text.strip_prefix(SOCKET).map(Path::new) else {
        return Ok(None);
    };
    if path.is_absolute() {
        Ok(Some(path.to_owned()))
    } else {
        Err("expected an absolute path behind unix:".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_socket_or_a_port() {
        let listen = |text: &str| {
            text.parse::<ListenAddress>()
                .map(|address| address.to_string())
        };
        for good in ["unix:/run/x.sock", "127.0.0.1:1", "[::]:18000"] {
            assert_eq!(listen(good).as_deref(), Ok(good));
        }
        let all = match crate::args::has_ipv6() {
            true => "[::]:18000",
            false => "0.0.0.0:18000",
        };
        assert_eq!(listen(":18000").as_deref(), Ok(all));
        for bad in [
            "",
            ":",
            ":x",
            "unix:",
            "unix:x.sock",
            "/run/x.sock",
            "localhost:1",
            "127.0.0.1",
        ] {
            assert!(listen(bad).is_err(), "{bad:?}");
        }
        assert_eq!("unix:/x".parse(), Ok(ConnectAddress::Unix("/x".into())));
        assert!(
            "sluice.example:1"
                .parse::<ConnectAddress>()
                .is_ok_and(|at| matches!(at, ConnectAddress::Tcp(_)))
        );
        assert!("sluice.example".parse::<ConnectAddress>().is_err());
    }
}
