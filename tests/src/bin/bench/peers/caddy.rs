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
use super::packages::Package;
use super::plan::Plan;
use super::proxy::{Changed, Proxy, Running, wait_until_listening};
use super::site::Site;

pub(crate) const PACKAGE: Package = Package {
    variable: "CADDY_BINARY",
    path: "usr/bin/caddy",
};

struct Caddy {
    process: Process,
    plan: Plan,
    admin: Port,
    _folder: TempDir,
}

pub(crate) async fn start(plan: Plan, site: &Site) -> Result<Running> {
    let admin = Port::reserve()?;
    let folder = tempfile::Builder::new().prefix("caddy-").tempdir()?;
    let file = folder.path().join("caddy.json");
    let configuration = configuration(&plan, admin.addr(), site.pods(plan.protocol));
    fs::write(&file, configuration.to_string())?;
    let mut command = Command::new(PACKAGE.program().context("caddy")?);
    command.arg("run").arg("--config").arg(&file);
    // One worker, as all of them have; nothing of it outside of its folder.
    command.env("GOMAXPROCS", "1").env("HOME", folder.path());
    command.env("XDG_CONFIG_HOME", folder.path());
    command.env("XDG_DATA_HOME", folder.path());
    let mut process = Process::spawn(command)?;
    wait_until_listening(plan.http(), &mut process).await?;
    Ok(Running {
        http: plan.http(),
        https: plan.https(),
        proxy: Box::new(Caddy {
            process,
            plan,
            admin,
            _folder: folder,
        }),
    })
}

impl Proxy for Caddy {
    fn processes(&self) -> Result<Vec<u32>> {
        Ok(vec![self.process.pid()])
    }

    fn log(&self) -> &Log {
        self.process.log()
    }

    /// Its API.
    fn change<'a>(&'a mut self, pods: &'a [SocketAddr]) -> Changed<'a> {
        Box::pin(async {
            let admin = self.admin.addr();
            let request = Request::new("POST", &admin.to_string(), "/load")
                .header("content-type", "application/json")
                .body(configuration(&self.plan, admin, pods).to_string());
            let response = http::send(admin, &request).await.context("caddy's API")?;
            ensure!(response.status == 200, "caddy's API: {}", response.text());
            Ok(())
        })
    }
}

fn configuration(plan: &Plan, admin: SocketAddr, pods: &[SocketAddr]) -> Value {
    let certificate = json!({
        "certificate": plan.certificate("crt"),
        "key": plan.certificate("key"),
    });
    let upstreams: Vec<Value> = pods
        .iter()
        .map(|pod| json!({ "dial": pod.to_string() }))
        .collect();
    let versions = match plan.protocol {
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
        "admin": { "listen": admin.to_string() },
        "logging": { "logs": { "default": { "level": "ERROR" } } },
        "apps": {
            "http": { "servers": {
                "http": server(plan.http(), Value::Null),
                "https": server(plan.https(), json!([{}])),
            } },
            "tls": { "certificates": { "load_files": [certificate] } },
        },
    })
}
