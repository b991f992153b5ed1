//! A real nginx with our module and its filter.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use sluice_filter_config::Host;
use sluice_nginx::{Engine, Settings, Unsupported, render};
use sluice_tests::certificate::Pair;
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;
use sluice_tests::{artifacts, http, wait};

use crate::site::{HOST, Site, bootstrap_config};

pub(crate) struct RunningNginx {
    nginx: Nginx,
    unsupported: Vec<Unsupported>,
    ports: [Port; 2],
}

impl RunningNginx {
    /// Starts it, and waits until it serves the site.
    pub(crate) async fn start(site: &Site) -> Result<RunningNginx> {
        let config = site.config()?;
        let ports = [Port::reserve()?, Port::reserve()?];
        let mut unsupported = Vec::new();
        let conf = Conf::whole(|folder| {
            let engine = Engine::Sluice {
                module: artifacts::nginx_module()?,
                wasm: None,
            };
            let settings = Settings {
                bootstrap_config: String::from_utf8(bootstrap_config(&config, Host::Nginx))?,
                controller: folder.join("controller.sock"),
                folder: folder.to_owned(),
                user: None,
                workers: Some(1),
                ..Settings::new(engine, ports[0].addr(), ports[1].addr())
            };
            let rendered = render(&config, &settings);
            unsupported = rendered.unsupported;
            fs::create_dir_all(settings.pods())?;
            Ok(rendered.text.to_string())
        })?;
        let pair = Pair::of(&["default.test"])?;
        let default = conf.dir().join("certificates/default.pem");
        fs::write(default, format!("{}{}", pair.pem, pair.key))?;
        let running = RunningNginx {
            nginx: Nginx::start(conf).await?,
            unsupported,
            ports,
        };
        let serves = async || {
            let answer = http::get(running.http(), HOST, "/weights").await.ok()?;
            (answer.status == 200).then_some(())
        };
        wait::until("nginx to serve", serves)
            .await
            .with_context(|| running.nginx.log().tail())?;
        Ok(running)
    }

    /// Address for http.
    pub(crate) fn http(&self) -> SocketAddr {
        self.ports[0].addr()
    }

    /// Features that it does not serve.
    pub(crate) fn reports(&self) -> Vec<String> {
        let reports = self.unsupported.iter();
        reports.map(ToString::to_string).collect()
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.nginx.stop()
    }
}
