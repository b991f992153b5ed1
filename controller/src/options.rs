//! Flags to the values that the crates below take.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use sluice_filter_config::Host;
use sluice_translate::Options;
use sluice_xds::{CONTROLLER_CLUSTER, Certificate, FilterCode, Https, Settings};

use crate::args::{Listeners, Translation};

/// The options of a translation. `others` are ports of ours beside the listeners.
pub(crate) fn translation(
    flags: &Translation,
    listeners: &Listeners,
    others: impl IntoIterator<Item = u16>,
) -> Options {
    let own_ports: BTreeSet<u16> =
        [listeners.http_port, listeners.https_port].into_iter().chain(others).collect();
    Options {
        ingress_class: flags.ingress_class.clone(),
        controller_class: flags.controller_class.clone(),
        ingress_class_by_name: flags.ingress_class_by_name,
        watch_ingress_without_class: flags.watch_ingress_without_class,
        // A folder of manifests is an application's; the class comes with the controller.
        class_is_implied: true,
        annotations_prefix: flags.annotations_prefix.trim_end_matches('/').to_owned(),
        configmap: flags.configmap.clone(),
        watch_namespace: flags.watch_namespace.clone(),
        default_backend_service: flags.default_backend_service.clone(),
        disable_external_name: flags.disable_svc_external_name,
        disable_catch_all: flags.disable_catch_all,
        own_ports,
    }
}

/// The settings of a managed Envoy.
pub(crate) fn envoy(listeners: &Listeners, filter: FilterCode, default_certificate: Certificate) -> Settings {
    let checkpoint = sluice_plugin::checkpoint(Host::ManagedEnvoy, CONTROLLER_CLUSTER, "sluice").to_json();
    let at = |port| SocketAddr::new(listeners.bind_address, port);
    let https = Https { address: at(listeners.https_port), default_certificate };
    Settings { http: vec![at(listeners.http_port)], https: Some(https), ..Settings::new(filter, checkpoint) }
}
