//! A real Prometheus that scrapes every second, as the chart's monitors let it.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use sluice_tests::process::Process;
use sluice_tests::{artifacts, http, ports::Port, wait};
use tempfile::TempDir;

pub(super) struct Prometheus {
    process: Process,
    port: Port,
    _folder: TempDir,
}

impl Prometheus {
    /// Scrapes these, each the one target of its job. The labels are a pod's; like the monitors it keeps a metric's own `namespace`
    /// as `exported_namespace`.
    pub(super) async fn start(jobs: &[(&str, SocketAddr)]) -> Result<Prometheus> {
        let folder = tempfile::Builder::new()
            .prefix("sluice-prometheus-")
            .tempdir()?;
        let jobs: Vec<Value> = jobs
            .iter()
            .map(|(job, addr)| {
                let labels = json!({"namespace": "sluice-system", "pod": format!("{job}-0")});
                json!({"job_name": job, "static_configs": [{"targets": [addr], "labels": labels}]})
            })
            .collect();
        let config = json!({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs});
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, config.to_string())?;
        let port = Port::reserve()?;
        let mut command = Command::new(artifacts::prometheus()?);
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!(
            "--storage.tsdb.path={}",
            folder.path().join("data").display()
        ));
        command.arg(format!("--web.listen-address={}", port.addr()));
        let prometheus = Prometheus {
            process: Process::spawn(command)?,
            port,
            _folder: folder,
        };
        let ready = async || {
            let page = http::get(prometheus.port.addr(), "prometheus", "/-/ready").await;
            page.ok().filter(|page| page.status == 200)
        };
        let waited = wait::until("Prometheus to be ready", ready).await;
        waited.with_context(|| prometheus.process.log().tail())?;
        Ok(prometheus)
    }

    /// The samples of an expression: labels and value.
    pub(super) async fn query(&self, expression: &str) -> Result<Vec<(Value, f64)>> {
        let query = utf8_percent_encode(expression, NON_ALPHANUMERIC);
        let target = format!("/api/v1/query?query={query}");
        let page = http::get(self.port.addr(), "prometheus", &target).await?;
        ensure!(page.status == 200, "{expression}: {}", page.text());
        let page: Value = serde_json::from_str(&page.text())?;
        let samples = page["data"]["result"].as_array();
        let samples = samples.with_context(|| format!("{expression}: {page}"))?;
        let read = |sample: &Value| {
            let value = sample["value"][1].as_str().context("no value")?;
            Ok((sample["metric"].clone(), value.parse()?))
        };
        samples.iter().map(read).collect()
    }

    pub(super) fn stop(mut self) -> Result<()> {
        let status = self.process.stop()?;
        ensure!(status.success(), "Prometheus: {status}");
        Ok(())
    }
}
