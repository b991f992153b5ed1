//! Flags of the controller's own HTTP. Names and defaults are ingress-nginx's.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;

/// Flags of the controller's own HTTP.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Health, metrics and admin")]
pub struct AdminFlags {
    /// Address for health and metrics [default: all interfaces].
    #[arg(long, value_name = "IP")]
    pub healthz_host: Option<IpAddr>,
    /// Port for health and metrics; 0 for none.
    #[arg(long, default_value_t = 10254, value_name = "PORT")]
    pub healthz_port: u16,
    /// Path of the health check.
    #[arg(long, default_value = "/healthz", value_name = "PATH", value_parser = path)]
    pub health_check_path: String,
    /// Timeout of the health check.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    pub health_check_timeout: Duration,
    /// No effect: these endpoints are on --admin-socket, out of reach of upstreams.
    #[arg(long, value_name = "PORT")]
    pub status_port: Option<u16>,
    /// Unix socket for `sluice dbg`, profiles and `sluice wait-shutdown` (mode 0600) [default: admin.sock in the run
    /// directory].
    #[arg(long, env = "SLUICE_ADMIN_SOCKET", value_name = "PATH")]
    pub admin_socket: Option<PathBuf>,
    /// Accept POST /configuration/backends on --admin-socket: its endpoints are served until the controller finds others.
    #[arg(long)]
    pub admin_writes: bool,
}

impl AdminFlags {
    /// Every port that is listened on.
    pub fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        Some(self.healthz_port)
            .filter(|port| *port != 0)
            .into_iter()
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs);
    seconds.map_err(|_| "expected a number of seconds".to_owned())
}

/// A path as it is, and nothing that a router could read as a pattern.
fn path(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    match text.strip_prefix('/') {
        Some(_) if text != "/metrics" && text.chars().all(plain) => Ok(text.to_owned()),
        _ => Err("expected a path such as /healthz".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_path_is_a_plain_path() {
        assert_eq!(path("/healthz"), Ok("/healthz".to_owned()));
        for bad in ["", "healthz", "/{x}", "/*", "/a b", "/metrics"] {
            assert!(path(bad).is_err(), "{bad:?}");
        }
    }
}
