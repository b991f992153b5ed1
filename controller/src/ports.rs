//! Ports that are listened on: each has one flag, and nobody else has it.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use anyhow::bail;
use rustix::process::Pid;
use sluice_dataplane::process::{self, overlap};

use crate::args::{DataPlane, ListenAddress, Run};
use crate::data_plane::Child;

/// A data plane that has just died gives its ports back within this time.
const DYING: Duration = Duration::from_secs(1);

/// No two flags have the same one.
pub(crate) fn differ(args: &Run) -> anyhow::Result<()> {
    let (of_clients, own) = (of_clients(args), own(args));
    match args.data_plane {
        DataPlane::Envoy | DataPlane::Nginx => all_differ(&[of_clients, own].concat()),
        // Clients connect to another machine.
        DataPlane::None => all_differ(&of_clients).and_then(|()| all_differ(&own)),
    }
}

/// An address to listen on, and the flag that has its port.
type Listened = (&'static str, SocketAddr);

fn all_differ(listened: &[Listened]) -> anyhow::Result<()> {
    for (position, (flag, address)) in listened.iter().enumerate() {
        let mut before = listened[..position].iter();
        let is_same = |(first, other): &&Listened| first != flag && overlap(*other, *address);
        if let Some((first, _)) = before.find(is_same) {
            bail!("{flag} {}: already used by {first}", address.port());
        }
    }
    Ok(())
}

/// Those of the data plane.
fn of_clients(args: &Run) -> Vec<Listened> {
    let listeners = &args.listeners;
    let ports = [
        ("--http-port", listeners.http_port),
        ("--https-port", listeners.https_port),
    ];
    let addresses = ports.into_iter().flat_map(|(flag, port)| {
        let addresses = listeners.on_port(port).into_iter();
        addresses.map(move |address| (flag, address))
    });
    addresses.collect()
}

/// Those of the controller.
fn own(args: &Run) -> Vec<Listened> {
    let all_interfaces = IpAddr::from(Ipv4Addr::UNSPECIFIED);
    let (health, dashboard) = (
        args.admin.healthz_host.unwrap_or(all_interfaces),
        IpAddr::from(Ipv4Addr::LOCALHOST),
    );
    let health = args
        .admin
        .ports()
        .map(|port| ("--healthz-port", SocketAddr::new(health, port)));
    let dashboard = args
        .dashboard
        .ports()
        .map(|port| ("--dashboard-port", SocketAddr::new(dashboard, port)));
    let webhook = args.webhook.port().map(|port| {
        let written = args.webhook.validating_webhook.as_deref();
        let address = written.and_then(|text| text.parse().ok());
        // Without an IP in it: on all interfaces.
        let anywhere = SocketAddr::new(all_interfaces, port);
        ("--validating-webhook", address.unwrap_or(anywhere))
    });
    let xds = match (&args.xds_address, args.data_plane) {
        (Some(ListenAddress::Tcp(address)), DataPlane::None) => Some(("--xds-address", *address)),
        _ => None,
    };
    health.chain(dashboard).chain(webhook).chain(xds).collect()
}

/// The ports are free, or those have them that we take over.
pub(crate) async fn are_free(args: &Run, child: &Child) -> anyhow::Result<()> {
    if args.data_plane == DataPlane::None {
        return Ok(());
    }
    let listeners = &args.listeners;
    for (port, flag) in [
        (listeners.http_port, "--http-port"),
        (listeners.https_port, "--https-port"),
    ] {
        for address in listeners.on_port(port) {
            check_port(address, flag, &child.found()).await?;
        }
    }
    Ok(())
}

async fn check_port(address: SocketAddr, flag: &str, found: &[Pid]) -> anyhow::Result<()> {
    let port = address.port();
    let began = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                // Another port would be refused as well.
                bail!(
                    "--bind-address {}: no interface of this machine has this address",
                    address.ip()
                )
            }
            Err(error) if error.kind() != ErrorKind::AddrInUse => {
                let ip = address.ip();
                bail!("{flag} {port}: cannot listen on {ip}: {error}; choose another with {flag}")
            }
            Err(_) if found.iter().any(|pid| process::listens(*pid, address)) => return Ok(()),
            Err(_) if began.elapsed() > DYING => {
                let by = process::listener(address)
                    .map(|listener| format!(" by {listener}"))
                    .unwrap_or_default();
                bail!("{flag} {port}: the port is taken{by}; choose another with {flag}")
            }
            Err(_) => tokio::time::sleep(DYING / 50).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        run: Run,
    }

    fn error(flags: &[&str]) -> Option<String> {
        let mut words = vec!["sluice", "--manifests=."];
        if !flags.iter().any(|flag| flag.starts_with("--bind-address")) {
            words.push("--bind-address=127.0.0.1");
        }
        let command = Command::try_parse_from(words.iter().chain(flags)).unwrap();
        differ(&command.run).err().map(|error| error.to_string())
    }

    #[test]
    fn each_port_has_one_flag() {
        // What is listened on at all interfaces is so at this one.
        for (flags, port, first) in [
            (
                &["--https-port=8080"][..],
                "--https-port 8080",
                "--http-port",
            ),
            (
                &["--healthz-port=8443"],
                "--healthz-port 8443",
                "--https-port",
            ),
            (
                &["--healthz-host=::", "--healthz-port=8080"],
                "--healthz-port 8080",
                "--http-port",
            ),
            (
                &["--dashboard-port=8080"],
                "--dashboard-port 8080",
                "--http-port",
            ),
            (
                &["--dashboard-port=10254"],
                "--dashboard-port 10254",
                "--healthz-port",
            ),
            (
                &["--validating-webhook=:8443"],
                "--validating-webhook 8443",
                "--https-port",
            ),
            (
                &["--validating-webhook=127.0.0.1:10254"],
                "--validating-webhook 10254",
                "--healthz-port",
            ),
        ] {
            let expected = format!("{port}: already used by {first}");
            assert_eq!(error(flags), Some(expected), "{flags:?}");
        }
    }

    #[test]
    fn what_does_not_meet_may_have_one_port() {
        for flags in [
            &[][..],
            &["--bind-address=::"],
            &["--healthz-host=127.0.0.2", "--healthz-port=8080"],
            &["--healthz-host=::1", "--healthz-port=8080"],
            &["--validating-webhook=127.0.0.2:8443"],
            &["--data-plane=none", "--healthz-port=8080"],
            // It has no effect with a data plane of its own.
            &["--xds-address=:8080"],
        ] {
            assert_eq!(error(flags), None, "{flags:?}");
        }
    }

    #[tokio::test]
    async fn the_flag_that_is_refused_is_named() {
        let refused = |address: SocketAddr| async move {
            let error = check_port(address, "--http-port", &[]).await;
            error.map_err(|error| error.to_string())
        };
        // An address of documentation, which no machine has.
        let nowhere = refused("203.0.113.5:8080".parse().unwrap()).await;
        let text = "--bind-address 203.0.113.5: no interface of this machine has this address";
        assert_eq!(nowhere, Err(text.to_owned()));
        let listener = TcpListener::bind("127.82.7.5:0").unwrap();
        let address = listener.local_addr().unwrap();
        let taken = refused(address).await.unwrap_err();
        let by_us = format!(
            "(process {}); choose another with --http-port",
            std::process::id()
        );
        assert!(taken.ends_with(&by_us), "{taken}");
        let elsewhere = SocketAddr::new("127.82.7.6".parse().unwrap(), address.port());
        assert_eq!(refused(elsewhere).await, Ok(()));
    }
}
