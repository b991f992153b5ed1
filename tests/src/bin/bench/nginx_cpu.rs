//! CPU per request of an nginx with Sluice, relative to nginx's own round robin in the smallest configuration ([`plain`]), or in ours.
//!
//! That baseline is an nginx with the very configuration that Sluice gives to one without a host table, without the module: the same headers,
//! variables, timeouts and pooling. These parts are removed, and it is an error if one of them is missing:
//!
//! - the module, the filter and its configuration;
//! - `sluice_peer` and the server for requests without an endpoint; the pods stand there instead;
//! - headers that the module joins: they are `proxy_set_header`s.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;
use sluice_tests::proc;
use sluice_tests::sluice::{Options, Sluice};

use crate::cpu::{Baseline, Cpu, DataPlane, Side, Site};
use crate::row::Measured;
use crate::{Effort, plain};

pub(crate) async fn run(cpu: &Cpu, effort: Effort) -> Result<Vec<Measured>> {
    let site = Site::start().await?;
    let manifests = site.manifests(cpu.policy.annotations)?;
    let form: &[&str] = match cpu.data_plane {
        DataPlane::NginxWasm => &["--nginx-filter=wasm"],
        _ => &[],
    };
    let form = form.iter().map(|flag| (*flag).to_owned()).collect();
    let options = Options::new(&manifests).data_plane("nginx");
    let sluice = options.arguments(form).start().await?;
    let port = Port::reserve()?;
    let conf = match cpu.baseline {
        Baseline::Native => {
            // Ours has its host in a table, which nobody but the module reads.
            let no_table = vec!["--nginx-host-table=off".to_owned()];
            let options = Options::new(&manifests).data_plane("nginx");
            let whole = options.arguments(no_table).start().await?;
            native(&whole, port.addr(), &site.pods)?
        }
        Baseline::Plain => Conf::beside(&plain::nginx_conf(port.addr(), &site.pods))?,
    };
    let nginx = Nginx::start(conf).await?;

    let ours = Side {
        addr: sluice.http(),
        processes: workers(&sluice)?,
    };
    let native = Side {
        addr: port.addr(),
        processes: nginx.workers(),
    };
    cpu.compare(&ours, &native, effort).await
}

/// The workers of the nginx that a controller runs.
pub(crate) fn workers(sluice: &Sluice) -> Result<Vec<u32>> {
    let masters = proc::children(sluice.pid());
    let workers = proc::children(*masters.first().context("the controller has no nginx")?);
    ensure!(!workers.is_empty(), "nginx has no workers");
    Ok(workers)
}

/// The configuration of the controller's nginx, for one that serves here by itself.
fn native(sluice: &Sluice, listen: SocketAddr, pods: &[SocketAddr]) -> Result<Conf> {
    let folder = sluice.run_dir().join("nginx");
    let text =
        fs::read_to_string(folder.join("nginx.conf")).context("the controller's nginx.conf")?;
    Conf::whole(|own| {
        let text = without_filter(&text, pods)?;
        let text = replaced(&text, &sluice.http().to_string(), &listen.to_string())?;
        // Nobody asks for https.
        let text = replaced(&text, &sluice.https().to_string(), "unix:https.sock")?;
        replaced(
            &text,
            &folder.display().to_string(),
            &own.display().to_string(),
        )
    })
}

fn without_filter(text: &str, pods: &[SocketAddr]) -> Result<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    for directive in [
        "load_module ",
        "  sluice_filter ",
        "  sluice_server_header ",
    ] {
        let before = lines.len();
        lines.retain(|line| !line.starts_with(directive));
        ensure!(
            lines.len() + 1 == before,
            "expected one line {directive:?}, got {}",
            before - lines.len()
        );
    }
    let text = replaced(&lines.join("\n"), "    sluice_filter off;\n", "")?;
    // Variables of the module: a header on several lines, a random text.
    let text = replaced(&text, "${sluice_all_cdn_loop}", "${http_cdn_loop}")?;
    let text = replaced(&text, "${sluice_random_id}", "${request_id}")?;
    let text = replaced(&text, "${sluice_authority}", "${http_host}")?;
    let text = replaced(&text, "$sluice_authority", "$http_host")?;
    let text = with_headers(&text)?;
    let text = without_names(&text);
    let servers: String = pods
        .iter()
        .map(|pod| format!("    server {pod};\n"))
        .collect();
    let (before, rest) = text
        .split_once("  upstream sluice_pods {\n")
        .context("there is no upstream")?;
    let (_, after) = rest
        .split_once("    sluice_peer;\n")
        .context("the upstream has no sluice_peer")?;
    Ok(format!(
        "{before}  upstream sluice_pods {{\n{servers}{after}"
    ))
}

/// With the backends themselves in the access log, where there is one: their names are the module's.
fn without_names(text: &str) -> String {
    let text = text.replace("${sluice_upstream_name}", "${sluice_main}");
    text.replace("${sluice_alternative_name}", "${sluice_backend}")
}

/// With headers of nginx's in place of those that the module joins.
fn with_headers(text: &str) -> Result<String> {
    const JOINED: &str = "  sluice_request_header ";
    let (joined, mut text): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with(JOINED));
    ensure!(!joined.is_empty(), "there are no joined headers");
    let headers: Vec<String> = joined
        .iter()
        .map(|line| line.replace(JOINED, "  proxy_set_header "))
        .collect();
    for header in &headers {
        let name = header.rsplit_once(' ').context("a header has a value")?.0;
        let place = text.iter().position(|line| line.starts_with(name));
        let place = place.with_context(|| format!("no {name:?}"))?;
        text[place] = header;
    }
    Ok(text.join("\n"))
}

fn replaced(text: &str, what: &str, by: &str) -> Result<String> {
    ensure!(
        text.contains(what),
        "there is no {what:?} in the configuration"
    );
    Ok(text.replace(what, by))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "load_module \"m.so\";\nhttp {\n  sluice_server_header off;\n  sluice_request_header \"X-A\" \"${a}\";\n  \
        proxy_set_header \"X-A\" \"${sluice_request_headers}\";\n  sluice_filter \"{}\";\n  upstream sluice_pods \
        {\n    server \"unix:x\";\n    sluice_peer;\n    keepalive 320;\n  }\n  server {\n    sluice_filter off;\n    \
        return 503 ${sluice_all_cdn_loop}${sluice_random_id}${sluice_authority}$sluice_authority;\n  }\n}\n";

    #[test]
    fn an_nginx_by_itself_keeps_all_but_the_filter() {
        let pods = [SocketAddr::from(([10, 0, 0, 1], 80))];
        let expected = "http {\n  proxy_set_header \"X-A\" \"${a}\";\n  upstream sluice_pods {\n    server 10.0.0.1:80;\n    keepalive 320;\n  }\n  server {\n    \
            return 503 ${http_cdn_loop}${request_id}${http_host}$http_host;\n  }\n}";
        assert_eq!(without_filter(OURS, &pods).unwrap(), expected);
        let error = without_filter("http {}", &pods).unwrap_err().to_string();
        assert!(error.contains("load_module"), "{error}");
    }
}
