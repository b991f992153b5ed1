//! Facts about a cluster, as they were read.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use k8s_openapi::api::networking::v1::IngressClass;

use crate::permissions::{Needs, Right};

/// Something that was read, or why not.
pub type Read<T> = Result<T, String>;

/// The API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its URL.
    pub url: String,
    /// Its version, such as `v1.33.1`.
    pub version: Read<String>,
}

/// Facts before an installation.
#[derive(Clone, Debug)]
pub struct Before {
    /// The API server.
    pub server: Server,
    /// Rights of the account that installs.
    pub rights: Vec<(Right, Read<bool>)>,
    /// Name of the IngressClass to be created.
    pub ingress_class: String,
    /// Its `spec.controller`.
    pub controller_class: String,
    /// All of the cluster.
    pub classes: Read<Vec<IngressClass>>,
    /// All of the cluster.
    pub webhooks: Read<Vec<ValidatingWebhookConfiguration>>,
    /// Services of these webhooks, by `namespace/name`.
    pub services: BTreeMap<String, Read<Option<Service>>>,
}

/// Facts about an installation.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The API server.
    pub server: Server,
    /// Its controllers.
    pub installation: Read<Installation>,
    /// All of the cluster.
    pub classes: Read<Vec<IngressClass>>,
    /// All of the cluster.
    pub webhooks: Read<Vec<ValidatingWebhookConfiguration>>,
    /// Services of these webhooks, by `namespace/name`.
    pub services: BTreeMap<String, Read<Option<Service>>>,
}

/// One installation: controllers with the same flags, and their data planes.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Namespace of its pods.
    pub namespace: String,
    /// Pods of the controller, at least one.
    pub controllers: Vec<Controller>,
    /// Flags of the controller.
    pub flags: Read<Flags>,
    /// Account of the controller.
    pub account: Account,
    /// Rights of that account.
    pub rights: Vec<(Right, Read<bool>)>,
    /// Pods of the data plane.
    pub data_planes: Read<Vec<Pod>>,
    /// Secrets that pods of the installation mount, by `namespace/name`.
    pub secrets: BTreeMap<String, Read<Option<Secret>>>,
    /// Everything that the controller reads, translated.
    pub served: Read<Served>,
}

/// Account whose rights are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// The one that asks.
    Own,
    /// Another one, such as `system:serviceaccount:sluice-system:sluice-controller`.
    Other(String),
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Account::Own => f.write_str("this account"),
            Account::Other(name) => f.write_str(name),
        }
    }
}

/// One pod of the controller.
#[derive(Clone, Debug)]
pub struct Controller {
    /// The pod.
    pub pod: Pod,
    /// Its page of metrics.
    pub metrics: Read<String>,
}

/// Flags of a controller, as far as checks depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--ingress-class`.
    pub ingress_class: String,
    /// `--controller-class`.
    pub controller_class: String,
    /// `--ingress-class-by-name`.
    pub class_by_name: bool,
    /// `--watch-ingress-without-class`.
    pub without_class: bool,
    /// Certificate of the webhook; `None`: there is no webhook.
    pub webhook_certificate: Option<String>,
    /// It runs its data plane itself.
    pub runs_data_plane: bool,
    /// It takes part in an election.
    pub elects: bool,
    /// Rights that it needs.
    pub needs: Needs,
}

/// Result of a translation of everything that the controller reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Certificates that hosts present.
    pub certificates: Vec<HostCertificate>,
    /// Sum of the findings, as `sluice lint` has it.
    pub sum: String,
    /// Something does not work at all.
    pub has_errors: bool,
}

/// Certificate of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCertificate {
    /// One of its hosts, and how many more there are.
    pub host: String,
    /// The Secret, `namespace/name`.
    pub secret: String,
    /// Chain in PEM.
    pub chain: String,
}
