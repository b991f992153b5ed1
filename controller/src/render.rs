//! `sluice render` and `sluice bootstrap`: what would be served, as text; no sockets.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;
use sluice_filter_config::{PluginConfig, Tables};
use sluice_plugin::Log;
use sluice_source::{Collected, Problem, read_once};
use sluice_translate::{Report, Translation, translate};
use sluice_xds::{BootstrapSettings, Certificate, ControllerAddress, FilterCode, MutualTls};

use crate::args::{Bootstrap, ConnectAddress, Render};
use crate::{options, output};

/// Everything that a folder has to say about itself.
#[derive(Serialize)]
struct Reports<'a> {
    /// Documents that cannot be read.
    documents: Vec<Problem>,
    /// Reports of the translation.
    objects: Vec<&'a Report>,
    /// Settings that nginx does not support.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nginx: Vec<String>,
}

pub(crate) fn render(args: &Render) -> anyhow::Result<()> {
    let Collected {
        resources,
        problems,
        ..
    } = read_once(&args.manifests)?.into_iter().collect();
    let translation = translate(
        &resources,
        &options::translation(&args.translation, &args.listeners, []),
    );
    fs::create_dir_all(&args.out).with_context(|| format!("--out {}", args.out.display()))?;
    write(&args.out, &translation, problems, args)
}

fn write(
    out: &Path,
    translation: &Translation,
    documents: Vec<Problem>,
    args: &Render,
) -> anyhow::Result<()> {
    let config = translation.config();
    let mut log = Log::default();
    log.replace(config);
    let plugin = PluginConfig::with_tables(Tables::Snapshot(log.snapshot()));
    // Where the code is differs from machine to machine, and does not matter to a reader.
    let code = FilterCode::File(PathBuf::from("sluice_filter.wasm"));
    // It is made anew at every start; what is rendered never shows a key.
    let certificate = Certificate {
        chain: String::new(),
        key: String::new(),
    };
    let settings = options::envoy(&args.listeners.anywhere(), code, certificate);
    let rendered = sluice_nginx::render(
        config,
        &options::nginx_anywhere(&args.listeners.anywhere(), args.nginx_host),
    );
    let nginx = rendered
        .unsupported
        .iter()
        .map(ToString::to_string)
        .collect();
    write_json(
        &out.join("reports.json"),
        &Reports {
            documents,
            objects: translation.reports(),
            nginx,
        },
    )?;
    write_json(&out.join("ir.json"), config)?;
    write_json(&out.join("plugin.json"), &plugin)?;
    write_text(&out.join("nginx.conf"), &rendered.text)?;
    // Others hold keys.
    for (name, rules) in rendered.files.rules() {
        write_text(&out.join(name), rules)?;
    }
    write_json(
        &out.join("xds.json"),
        &sluice_xds::RenderedResources::render(config, &settings).to_json()?,
    )
}

fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value).with_context(|| path.display().to_string())?;
    write_text(path, &(text + "\n"))
}

fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())
}

/// Address of the controller for a drop-in Envoy. Files for TLS are written beside its bootstrap.
fn controller(args: &Bootstrap) -> anyhow::Result<ControllerAddress> {
    let at = match &args.xds_address {
        ConnectAddress::Unix(_) if args.xds_certificates.is_some() => {
            bail!("--xds-certificates: only with --xds-address HOST:PORT, a unix socket has no TLS")
        }
        ConnectAddress::Unix(path) => return Ok(ControllerAddress::Unix(path.clone())),
        ConnectAddress::Tcp(at) => at,
    };
    let tls = match &args.xds_certificates {
        Some(folder) => {
            let sds = args
                .admin_socket
                .parent()
                .unwrap_or(Path::new("/"))
                .join("sds");
            let tls = MutualTls::new(
                folder,
                args.xds_server_name.as_ref().unwrap_or(&at.host),
                &sds,
            );
            fs::create_dir_all(&sds).with_context(|| sds.display().to_string())?;
            tls.files()
                .into_iter()
                .try_for_each(|(path, content)| write_text(&path, &content.to_string()))?;
            Some(tls)
        }
        None if args.xds_plaintext => None,
        None => bail!(
            "--xds-address {}:{}: give --xds-certificates DIR (mutual TLS) or unix:PATH, or, if the controller runs with \
             --xds-plaintext, the same here",
            at.host,
            at.port
        ),
    };
    Ok(ControllerAddress::Tcp {
        host: at.host.clone(),
        port: at.port,
        tls,
    })
}

pub(crate) fn bootstrap(args: &Bootstrap) -> anyhow::Result<()> {
    let settings = BootstrapSettings {
        node_id: args.node_id.clone(),
        zone: args.zone.clone(),
        admin_socket: args.admin_socket.clone(),
        controller: controller(args)?,
        filter: args.envoy_filter.into(),
        max_connections: None,
        memory: None,
    };
    let text =
        serde_json::to_string_pretty(&sluice_xds::bootstrap(&settings)).context("bootstrap")?;
    Ok(output::print(&(text + "\n"))?)
}
