//! An nginx that serves the site, and the controller whose log its filter follows.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sluice_tests::artifacts;
use sluice_tests::http::Response;
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;
use sluice_tests::sluice::{self, Options, Sluice};

use crate::fixture::{Fixture, HOST};

/// `main` of most tests.
pub(crate) const TWO_WORKERS: &str = "worker_processes 2;";
/// Directives of a location that proxies to the pods.
pub(crate) const PROXY: &str = "\
proxy_http_version 1.1;
proxy_set_header Host $http_host;
proxy_set_header Connection \"\";
proxy_pass http://pods;";

/// Form of the filter in nginx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The one that is built into the module.
    BuiltIn,
    /// As wasm.
    Wasm,
}

impl Form {
    /// The directive that asks for it, if there is one.
    pub(crate) fn directive(self) -> Result<String> {
        Ok(match self {
            Form::BuiltIn => String::new(),
            Form::Wasm => format!("sluice_wasm {};", artifacts::compiled_filter()?.display()),
        })
    }
}

/// Two tests, one for each form of the filter, of each function.
macro_rules! in_both_forms {
    ($($name:ident)*) => {
        $(
            mod $name {
                use crate::gateway::Form;

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn built_in() -> anyhow::Result<()> {
                    super::$name(Form::BuiltIn).await
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn by_wasm() -> anyhow::Result<()> {
                    super::$name(Form::Wasm).await
                }
            }
        )*
    };
}
pub(crate) use in_both_forms;

/// A site behind nginx.
pub(crate) struct Gateway {
    pub(crate) fixture: Fixture,
    pub(crate) nginx: Nginx,
    pub(crate) controller: Sluice,
    port: Port,
}

impl Gateway {
    /// With the filter in this form.
    pub(crate) async fn start(form: Form, fixture: Fixture) -> Result<Gateway> {
        let module = artifacts::nginx_module()?;
        Gateway::with(fixture, &module, TWO_WORKERS, &form.directive()?).await
    }

    /// With this build of the module, this `main`, and these directives beside those of the site.
    pub(crate) async fn with(
        fixture: Fixture,
        module: &Path,
        main: &str,
        directives: &str,
    ) -> Result<Gateway> {
        let controller = Options::new(&fixture.manifests)
            .without_data_plane()
            .start()
            .await?;
        let port = Port::reserve()?;
        let http = format!(
            "{directives}\n{}\n{}",
            follow(controller.xds()),
            server(port.addr(), &format!("set $sluice_route {HOST}/;\n{PROXY}"))
        );
        let nginx = Nginx::start(Conf::write_with(module, main, &http)?).await?;
        let gateway = Gateway {
            fixture,
            nginx,
            controller,
            port,
        };
        gateway.wait_for_status(200).await?;
        Ok(gateway)
    }

    /// The address for clients.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// Waits until the site has this status.
    pub(crate) async fn wait_for_status(&self, status: u16) -> Result<Response> {
        let waited = sluice::wait_for_status(self.addr(), HOST, "/", status).await;
        waited.with_context(|| format!("nginx's log ends\n{}", self.nginx.log().tail()))
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.nginx.stop()?;
        self.controller.stop()
    }
}

/// `sluice_filter` on a controller.
pub(crate) fn follow(controller: &str) -> String {
    let control = format!(r#""control":{{"upstream":"{controller}","authority":"sluice"}}"#);
    format!(r#"sluice_filter '{{"schema":1,"host":"nginx",{control}}}';"#)
}

/// `sluice_filter` with tables that do not change: this location leads to these pods.
pub(crate) fn fixed(location: &str, pods: &[SocketAddr]) -> String {
    let backend = round_robin("b", pods);
    balanced(&json!({location: {"backend": "b"}}), &json!({"b": backend}))
}

/// A backend of these pods.
pub(crate) fn round_robin(name: &str, pods: &[SocketAddr]) -> Value {
    let endpoints: Vec<Value> = pods
        .iter()
        .map(|pod| json!({"address": pod.to_string()}))
        .collect();
    json!({"name": name, "load_balance": "round_robin", "attempts": 3, "endpoints": endpoints})
}

/// `sluice_filter` with tables that do not change.
pub(crate) fn balanced(routes: &Value, backends: &Value) -> String {
    let version = format!("1-{:032x}", 1);
    let snapshot = json!({"version": version, "routes": routes, "backends": backends});
    // The configuration comes first: a test cuts the tables out.
    format!(r#"sluice_filter '{{"schema":1,"host":"nginx","tables":{{"snapshot":{snapshot}}}}}';"#)
}

/// A server with one location, and the upstream of the pods. Without candidates nobody answers.
pub(crate) fn server(addr: SocketAddr, location: &str) -> String {
    format!(
        "upstream pods {{ server 127.0.0.1:1; sluice_peer; keepalive 64; }}\n\
         server {{ listen {addr}; location / {{\n{location}\n}} }}"
    )
}

/// nginx alone, with the filter and tables that do not change.
pub(crate) struct Fixed {
    pub(crate) nginx: Nginx,
    port: Port,
}

impl Fixed {
    /// These pods, and what else the location says.
    pub(crate) async fn start(form: Form, pods: &[SocketAddr], location: &str) -> Result<Fixed> {
        Fixed::with(form, &fixed("site", pods), location).await
    }

    /// This `sluice_filter`, and what else the location `fixture` says.
    pub(crate) async fn with(form: Form, directive: &str, location: &str) -> Result<Fixed> {
        let port = Port::reserve()?;
        let location = format!("set $sluice_route site;\n{PROXY}\n{location}");
        let http = format!(
            "{}\n{directive}\n{}",
            form.directive()?,
            server(port.addr(), &location)
        );
        let nginx = Nginx::start(Conf::write("worker_processes 1;", &http)?).await?;
        sluice_tests::wait::until("nginx to listen", async || {
            tokio::net::TcpStream::connect(port.addr()).await.ok()
        })
        .await?;
        Ok(Fixed { nginx, port })
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.port.addr()
    }
}
