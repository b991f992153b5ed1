//! `sluice_server_header`: nginx does not name itself, and the `Server` header of a pod is sent.

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::http::{self, Request};
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::{Network, Port};
use sluice_tests::script::{Answer, Script};
use sluice_tests::wait;
use tokio::net::TcpStream;

const LOCATIONS: &str = "
location / { proxy_pass_header Server; proxy_pass http://POD; }
location /made-here { return 200 x; }
location /missing { return 404; }
location /on { sluice_server_header on; return 200 x; }";

#[tokio::test]
async fn only_a_pod_names_its_server() -> Result<()> {
    let (network, off, default) = (Network::reserve()?, Port::reserve()?, Port::reserve()?);
    let pod = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
    let named = Answer {
        headers: vec![("server".to_owned(), "pod/1".to_owned())],
        ..Answer::default()
    };
    pod.script(Script::echo().answer("/named", named));
    let locations = LOCATIONS.replace("POD", &pod.addr().to_string());
    let http = format!(
        "server {{ listen {}; sluice_server_header off; {locations} }}\n\
         server {{ listen {}; {locations} }}",
        off.addr(),
        default.addr()
    );
    let nginx = Nginx::start(Conf::write("worker_processes 1;", &http)?).await?;
    wait::until("nginx to listen", async || {
        TcpStream::connect(default.addr()).await.ok()
    })
    .await?;
    let expected = [
        ("/", None, false),
        ("/named", Some("pod/1"), false),
        ("/made-here", None, true),
        ("/missing", None, true),
        ("/on", Some("nginx"), true),
    ];
    for (path, server, is_nginx_by_default) in expected {
        let response = http::send(off.addr(), &Request::get("web.test", path)).await?;
        let name = response.header("server").map(|name| &name[..5]);
        ensure!(name == server, "{path}: {response:?}");
        let response = http::send(default.addr(), &Request::get("web.test", path)).await?;
        let is_nginx = response
            .header("server")
            .is_some_and(|name| name.starts_with("nginx"));
        ensure!(is_nginx == is_nginx_by_default, "{path}: {response:?}");
    }
    nginx.stop()
}
