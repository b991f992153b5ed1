//! Caddy, with no more than the task asks for.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::log::Log;
use sluice_tests::ports::Port;
use sluice_tests::process::Process;
use tempfile::TempDir;

use super::Protocol;
use super::contender::{self, Proxy};
use super::site::Site;

pub(crate) struct Running {
    process: Process,
    plan: Plan,
    _folder: TempDir,
}

struct Plan {
    http: Port,
    https: Port,
    admin: Port,
    protocol: Protocol,
    certificate: Value,
}

impl Running {
    pub(crate) async fn start(site: &Site, protocol: Protocol) -> Result<Running> {
        let plan = Plan {
            http: Port::reserve()?,
            https: Port::reserve()?,
            admin: Port::reserve()?,
            protocol,
            certificate: json!({
                "certificate": site.certificate("crt"),
                "key": site.certificate("key"),
            }),
        };
        let folder = tempfile::Builder::new().prefix("caddy-").tempdir()?;
        let file = folder.path().join("caddy.json");
        fs::write(&file, plan.configuration(site.pods(protocol)).to_string())?;
        let mut command = Command::new(contender::caddy_binary()?);
        command.arg("run").arg("--config").arg(&file);
        // One worker, as all of them have; nothing of it outside of its folder.
        command.env("GOMAXPROCS", "1").env("HOME", folder.path());
        command.env("XDG_CONFIG_HOME", folder.path());
        command.env("XDG_DATA_HOME", folder.path());
        let mut running = Running {
            process: Process::spawn(command)?,
            plan,
            _folder: folder,
        };
        contender::listens(running.http(), &mut running.process).await?;
        Ok(running)
    }
}

impl Proxy for Running {
    fn http(&self) -> SocketAddr {
        self.plan.http.addr()
    }

    fn https(&self) -> SocketAddr {
        self.plan.https.addr()
    }

    fn processes(&self) -> Result<Vec<u32>> {
        Ok(vec![self.process.pid()])
    }

    fn log(&self) -> &Log {
        self.process.log()
    }

    /// Its API.
    async fn change(&mut self, pods: &[SocketAddr]) -> Result<()> {
        let admin = self.plan.admin.addr();
        let request = Request::new("POST", &admin.to_string(), "/load")
            .header("content-type", "application/json")
            .body(self.plan.configuration(pods).to_string());
        let response = http::send(admin, &request).await.context("caddy's API")?;
        ensure!(response.status == 200, "caddy's API: {}", response.text());
        Ok(())
    }
}

impl Plan {
    fn configuration(&self, pods: &[SocketAddr]) -> Value {
        let upstreams: Vec<Value> = pods
            .iter()
            .map(|pod| json!({ "dial": pod.to_string() }))
            .collect();
        let versions = match self.protocol {
            Protocol::Grpc => json!(["h2c"]),
            _ => json!(["1.1"]),
        };
        let proxy = json!({
            "handler": "reverse_proxy",
            "load_balancing": { "selection_policy": { "policy": "round_robin" } },
            "transport": { "protocol": "http", "versions": versions, "keep_alive": { "max_idle_conns_per_host": 320 } },
            "upstreams": upstreams,
        });
        let server = |listen: SocketAddr, tls: Value| {
            json!({
                "listen": [listen.to_string()],
                "automatic_https": { "disable": true },
                "routes": [{ "handle": [proxy] }],
                "tls_connection_policies": tls,
            })
        };
        json!({
            "admin": { "listen": self.admin.addr().to_string() },
            "logging": { "logs": { "default": { "level": "ERROR" } } },
            "apps": {
                "http": { "servers": {
                    "http": server(self.http.addr(), Value::Null),
                    "https": server(self.https.addr(), json!([{}])),
                } },
                "tls": { "certificates": { "load_files": [self.certificate] } },
            },
        })
    }
}
