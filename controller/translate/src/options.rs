//! Options of the operator: the flags of the controller that change a translation.

use sluice_ir::GlobalConfig;
use sluice_translate_engine::{AddressPolicy, ObjectKey, UpstreamOptions};

use crate::DataPlane;

/// ingress-nginx: `max-worker-connections`. Each takes two files: what comes back to us takes 32,768, of the half a million
/// and more that a container has.
pub const STREAM_CONNECTIONS: u32 = 16_384;

/// Names and defaults are those of ingress-nginx's flags where the meaning is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `--ingress-class`: the value of the annotation `kubernetes.io/ingress.class`, and with
    /// [`Options::ingress_class_by_name`] the name of an IngressClass.
    pub ingress_class: String,
    /// `--controller-class`: the `spec.controller` of the IngressClasses served.
    pub controller_class: String,
    /// `--ingress-class-by-name`
    pub ingress_class_by_name: bool,
    /// `--watch-ingress-without-class`
    pub watch_ingress_without_class: bool,
    /// An IngressClass named [`Options::ingress_class`] is assumed if there is no IngressClass at all: for a directory of
    /// manifests, where it usually comes with the controller and not with the application.
    pub class_is_implied: bool,
    /// `--annotations-prefix`, without the slash.
    pub annotations_prefix: String,
    /// `--configmap`: the controller's own ConfigMap.
    pub configmap: Option<ObjectKey>,
    /// `--tcp-services-configmap`: ports and the Services that they lead to.
    pub tcp_services: Option<ObjectKey>,
    /// `--udp-services-configmap`
    pub udp_services: Option<ObjectKey>,
    /// `--watch-namespace`; `None` is all of them.
    pub watch_namespace: Option<String>,
    /// `--default-backend-service`
    pub default_backend_service: Option<ObjectKey>,
    /// `--default-ssl-certificate`: the Secret with the certificate of hosts that have none of their own.
    pub default_certificate: Option<ObjectKey>,
    /// `--disable-svc-external-name`
    pub disable_external_name: bool,
    /// `--enable-ssl-passthrough`
    pub ssl_passthrough: bool,
    /// `--enable-topology-aware-routing`
    pub topology_aware_routing: bool,
    /// `--disable-catch-all`
    pub disable_catch_all: bool,
    /// `--health-check-path`: the catch-all server answers it with 200, for load balancers that probe the ports of traffic.
    pub health_check_path: String,
    /// `--allow-hosts-under-foreign-wildcards`: hosts are served that an older Ingress of another namespace covers.
    pub hosts_under_foreign_wildcards: bool,
    /// `--publish-service`: what stands in front of the data planes. Nothing but what is Sluice's own follows from it here.
    pub publish_service: Option<ObjectKey>,
    /// The namespace of the controller. What its EndpointSlices name together with us is Sluice's own.
    pub own_namespace: Option<String>,
    /// Addresses that may be dialled because of objects, and our own ports, which no ConfigMap may claim.
    pub addresses: AddressPolicy,
    /// Identifier of this Sluice, all its replicas included, in `CDN-Loop`: a token of RFC 9110.
    pub cdn_id: String,
    /// Connections of one Service that are not requests, where the ConfigMap says no other number.
    pub stream_connections: u32,
    /// Largest body of a request, in bytes, that stays in memory until a pod responds.
    pub kept_body: u64,
    /// `--native-balancing`: Envoy balances by itself where the result is the same.
    pub native_balancing: bool,
    /// Data plane that serves: settings that it does not support are reported. `None`: everything that one of them supports is
    /// translated, and reports name the data planes that do not.
    pub data_plane: Option<DataPlane>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            ingress_class: "nginx".to_owned(),
            controller_class: "k8s.io/ingress-nginx".to_owned(),
            ingress_class_by_name: false,
            watch_ingress_without_class: false,
            class_is_implied: false,
            annotations_prefix: "nginx.ingress.kubernetes.io".to_owned(),
            configmap: None,
            tcp_services: None,
            udp_services: None,
            watch_namespace: None,
            default_backend_service: None,
            default_certificate: None,
            disable_external_name: false,
            ssl_passthrough: false,
            topology_aware_routing: false,
            disable_catch_all: false,
            health_check_path: "/healthz".to_owned(),
            hosts_under_foreign_wildcards: false,
            publish_service: None,
            own_namespace: None,
            addresses: AddressPolicy::default(),
            cdn_id: GlobalConfig::default().cdn_id,
            stream_connections: STREAM_CONNECTIONS,
            kept_body: GlobalConfig::default().kept_body,
            native_balancing: true,
            data_plane: None,
        }
    }
}

impl Options {
    /// The ConfigMaps that flags name.
    pub fn config_maps(&self) -> impl Iterator<Item = &ObjectKey> {
        self.configmap.iter().chain(self.l4_config_maps())
    }

    /// Those of them that claim TCP and UDP ports.
    pub(crate) fn l4_config_maps(&self) -> impl Iterator<Item = &ObjectKey> {
        self.tcp_services.iter().chain(&self.udp_services)
    }

    /// The options that decide which upstreams are dialled.
    pub(crate) fn for_upstreams(&self) -> UpstreamOptions<'_> {
        UpstreamOptions {
            addresses: &self.addresses,
            disable_external_name: self.disable_external_name,
            publish_service: self.publish_service.as_ref(),
            own_namespace: self.own_namespace.as_deref(),
        }
    }
}
