//! Flags to the values that the crates below take.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use sluice_dataplane::find_program::{find_installed, installed_file};
use sluice_filter_config::{Host, PluginConfig};
use sluice_nginx::Engine;
use sluice_translate::{AddressPolicy, Options, STREAM_CONNECTIONS};
use sluice_xds::{CONTROLLER_CLUSTER, Certificate, FilterCode, Https, Settings};

use crate::args::{Listeners, NginxHost, NginxHostTable, Run, Translation};
use crate::filter;

/// The options of a translation. `others` are ports of ours beside the listeners.
pub(crate) fn translation(
    flags: &Translation,
    listeners: &Listeners,
    others: impl IntoIterator<Item = u16>,
) -> Options {
    let http_ports = BTreeSet::from([listeners.http_port, listeners.https_port]);
    Options {
        ingress_class: flags.ingress_class.clone(),
        controller_class: flags.controller_class.clone(),
        ingress_class_by_name: flags.ingress_class_by_name,
        watch_ingress_without_class: flags.watch_ingress_without_class,
        // A folder of manifests is an application's; the class comes with the controller.
        class_is_implied: true,
        annotations_prefix: flags.annotations_prefix.clone(),
        configmap: flags.configmap.clone(),
        tcp_services: flags.tcp_services_configmap.clone(),
        udp_services: flags.udp_services_configmap.clone(),
        watch_namespace: flags.watched().map(str::to_owned),
        default_backend_service: flags.default_backend_service.clone(),
        default_certificate: flags.default_ssl_certificate.clone(),
        disable_external_name: flags.disable_svc_external_name,
        ssl_passthrough: flags.enable_ssl_passthrough,
        topology_aware_routing: flags.enable_topology_aware_routing,
        disable_catch_all: flags.disable_catch_all,
        health_check_path: "/healthz".to_owned(),
        hosts_under_foreign_wildcards: flags.allow_hosts_under_foreign_wildcards,
        addresses: AddressPolicy {
            allowed: flags.allow_upstream_cidr.clone(),
            // As for the class: a folder is the operator's own.
            written_loopback: true,
            own_addresses: sluice_server::interfaces(),
            own_ports: http_ports.iter().copied().chain(others).collect(),
            http_ports,
            own_services: BTreeMap::new(),
        },
        cdn_id: cdn_id(flags, std::env::var("POD_NAMESPACE").ok().as_deref()),
        publish_service: None,
        own_namespace: None,
        stream_connections: STREAM_CONNECTIONS,
        kept_body: Options::default().kept_body,
        native_balancing: true,
        data_plane: None,
    }
}

/// The same for a cluster, which is not the operator's own as a folder is.
pub(crate) fn of_a_cluster(options: Options) -> Options {
    let addresses = AddressPolicy {
        written_loopback: false,
        ..options.addresses
    };
    Options {
        class_is_implied: false,
        addresses,
        ..options
    }
}

/// The same for all replicas of a controller, and another for another controller.
fn cdn_id(flags: &Translation, namespace: Option<&str>) -> String {
    let Translation {
        controller_class,
        ingress_class,
        configmap,
        watch_namespace,
        ..
    } = flags;
    let told_apart = format!(
        "{namespace:?} {controller_class} {ingress_class} {configmap:?} {watch_namespace:?}"
    );
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(told_apart));
    format!("sluice-{:08x}", u32::from_be_bytes([a, b, c, d]))
}

/// The settings of a managed Envoy.
pub(crate) fn envoy(
    listeners: &Listeners,
    filter: FilterCode,
    default_certificate: Certificate,
) -> Settings {
    let bootstrap_config =
        sluice_plugin::bootstrap_config(Host::ManagedEnvoy, CONTROLLER_CLUSTER, "sluice").to_json();
    let http = listeners.on_port(listeners.http_port);
    // With the addresses of the other port.
    let https = Https {
        address: SocketAddr::new(http[0].ip(), listeners.https_port),
        default_certificate,
    };
    Settings {
        http,
        https: Some(https),
        ..Settings::new(filter, bootstrap_config)
    }
}

/// The settings of an nginx that is our child.
pub(crate) fn nginx(
    args: &Run,
    folder: &Path,
    controller: &Path,
) -> anyhow::Result<sluice_nginx::Settings> {
    let flags = &args.nginx;
    let controller = std::path::absolute(controller).context("--run-dir")?;
    let upstream = format!("unix:{}", controller.display());
    let listeners = &args.listeners;
    Ok(sluice_nginx::Settings {
        bootstrap_config: bootstrap_config(flags.nginx_host, &upstream, args.child.zone()),
        controller,
        folder: folder.to_owned(),
        // Workers must reach the controller's socket, as an Envoy that is our child does.
        user: rustix::process::geteuid()
            .is_root()
            .then(|| "root".to_owned()),
        workers: flags.nginx_workers,
        host_table: flags.nginx_host_table == NginxHostTable::Auto,
        drain: args.shutdown.drain_timeout.as_secs(),
        ..nginx_on(listeners, engine(args, folder)?)
    })
}

fn nginx_on(listeners: &Listeners, engine: Engine) -> sluice_nginx::Settings {
    let http = listeners.on_port(listeners.http_port);
    let https = SocketAddr::new(http[0].ip(), listeners.https_port);
    sluice_nginx::Settings {
        others: http.iter().skip(1).map(SocketAddr::ip).collect(),
        ..sluice_nginx::Settings::new(engine, http[0], https)
    }
}

/// Module that runs the filter, and its files.
fn engine(args: &Run, folder: &Path) -> anyhow::Result<Engine> {
    let flags = &args.nginx;
    let module = || {
        installed_file(
            flags.nginx_module.as_deref(),
            "libngx_sluice.so",
            "--nginx-module",
            "cargo xtask install --data-plane nginx",
        )
    };
    let compiled = flags.filter_cwasm.as_deref();
    Ok(match flags.nginx_host {
        NginxHost::Sluice => Engine::Sluice {
            module: module()?,
            wasm: flags
                .takes_compiled_wasm()
                .then(|| compiled_filter(compiled))
                .transpose()?,
        },
        NginxHost::Kong => Engine::Kong {
            module: flags.nginx_module.is_some().then(module).transpose()?,
            filter: filter::file(args.filter_wasm.as_deref(), folder)?,
            cache: folder.join("wasmtime.toml"),
        },
    })
}

/// The filter as wasm for our module, which `cargo xtask install` does not bring.
fn compiled_filter(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    const NAME: &str = "sluice_filter.cwasm";
    if given.is_none() && find_installed(NAME).is_none() {
        bail!(
            "--nginx-filter wasm: no {NAME} in ../lib/sluice or beside this program: write one with `sluice-compile sluice_filter.wasm {NAME}` \
             (`cargo build --release -p sluice-wasm-host --features compile` builds that), and name it with --filter-cwasm"
        );
    }
    installed_file(given, NAME, "--filter-cwasm", "sluice-compile")
}

/// Settings of `sluice render`: paths that are the same on every machine.
pub(crate) fn nginx_anywhere(listeners: &Listeners, host: NginxHost) -> sluice_nginx::Settings {
    let engine = match host {
        NginxHost::Sluice => Engine::Sluice {
            module: "libngx_sluice.so".into(),
            wasm: None,
        },
        NginxHost::Kong => Engine::Kong {
            module: None,
            filter: "sluice_filter.wasm".into(),
            cache: "wasmtime.toml".into(),
        },
    };
    let module = Some(PathBuf::from("ngx_stream_module.so"));
    sluice_nginx::Settings {
        bootstrap_config: bootstrap_config(host, "unix:controller.sock", None),
        streams: Some(sluice_nginx::Streams {
            module,
            believes_headers: true,
            reads_names: true,
        }),
        modsecurity: (host == NginxHost::Sluice).then(|| sluice_nginx::ModSecurity {
            module: "ngx_http_modsecurity_module.so".into(),
            core_rules: vec!["core-rules.conf".into()],
            core_ids: Some([901_100, 942_100].into()),
            unicode_map: Some("unicode.mapping".into()),
        }),
        ..nginx_on(listeners, engine)
    }
}

/// nginx has no zones, so the filter gets this one.
fn bootstrap_config(host: NginxHost, upstream: &str, zone: Option<String>) -> String {
    let host = match host {
        NginxHost::Sluice => Host::Nginx,
        NginxHost::Kong => Host::NgxWasm,
    };
    let bootstrap_config = sluice_plugin::bootstrap_config(host, upstream, "sluice");
    let json = PluginConfig {
        zone,
        ..bootstrap_config
    }
    .to_json();
    String::from_utf8_lossy(&json).into_owned()
}
