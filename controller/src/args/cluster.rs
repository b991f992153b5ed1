//! Flags about where objects come from, and about the cluster they come from.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{ArgAction, Args as ClapArgs, ValueEnum};
use sluice_kube::{Access, Candidacy, Duties, lease_duration, status};
use sluice_translate::ObjectKey;

use super::object_key;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceKind {
    /// A directory of manifests.
    Files,
    /// A Kubernetes cluster.
    Kube,
}

#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Source")]
pub(crate) struct SourceArgs {
    /// Source of objects [default: files with --manifests, kube in a cluster or with --kubeconfig].
    #[arg(long, value_enum)]
    pub(crate) source: Option<SourceKind>,
    /// Directory of YAML manifests.
    #[arg(long, value_name = "DIR")]
    pub(crate) manifests: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Label selector of the namespaces to serve [default: all].
    #[arg(long, value_name = "SELECTOR", conflicts_with = "watch_namespace")]
    pub(crate) watch_namespace_selector: Option<String>,
    /// Watch the metadata of all pods for their weights (`sluice.dev/weight`) and for backups (`sluice.dev/backup`). Pods in
    /// a directory of manifests are always read.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) pod_weights: bool,
}

/// The way to the API server.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Source")]
pub(crate) struct AccessArgs {
    /// Path to a kubeconfig [default: in a cluster, the pod's service account; else KUBECONFIG or ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current one].
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// URL of the API server; overrides the kubeconfig.
    #[arg(long, value_name = "URL")]
    pub(crate) apiserver_host: Option<String>,
    /// Certificate authority of --apiserver-host.
    #[arg(long, value_name = "FILE", requires = "apiserver_host")]
    pub(crate) certificate_authority: Option<PathBuf>,
}

impl AccessArgs {
    /// The same for the client.
    pub(crate) fn access(&self) -> Access {
        Access {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            apiserver_host: self.apiserver_host.clone(),
            certificate_authority: self.certificate_authority.clone(),
        }
    }

    /// True if a flag names a cluster.
    pub(crate) fn is_given(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some() || self.apiserver_host.is_some()
    }
}

/// Source of objects, as the flags define it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectSource {
    Files(PathBuf),
    Kube,
}

impl SourceArgs {
    /// The way to the API server.
    pub(crate) fn access(&self) -> Access {
        self.access.access()
    }

    /// True if a flag asks for a cluster.
    pub(crate) fn names_a_cluster(&self) -> bool {
        self.source == Some(SourceKind::Kube) || self.access.is_given()
    }

    /// Decides; `in_cluster` says whether this runs in a pod.
    pub(crate) fn origin(&self, in_cluster: bool) -> anyhow::Result<ObjectSource> {
        let names_a_cluster = self.access.is_given();
        match (self.source, &self.manifests) {
            (Some(SourceKind::Kube), Some(_)) => {
                bail!("--manifests cannot be combined with --source kube")
            }
            (Some(SourceKind::Files) | None, Some(_)) if names_a_cluster => {
                bail!(
                    "--manifests cannot be combined with --kubeconfig, --context or --apiserver-host"
                )
            }
            (_, Some(folder)) => Ok(ObjectSource::Files(folder.clone())),
            (Some(SourceKind::Files), None) => {
                None.context("--source files: --manifests DIR is missing")
            }
            (Some(SourceKind::Kube), None) => Ok(ObjectSource::Kube),
            (None, None) if in_cluster || names_a_cluster => Ok(ObjectSource::Kube),
            // Taking over whatever cluster a kubeconfig happens to name must be asked for.
            (None, None) => {
                bail!("nothing to serve: give --manifests DIR, or --source kube for a cluster")
            }
        }
    }
}

/// Flags for objects that the controller writes.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Write the published addresses to the status of Ingresses.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) update_status: bool,
    /// Remove the addresses from the status when the last controller stops.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) update_status_on_shutdown: bool,
    /// Interval between status updates, in seconds; at least 5.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub(crate) status_update_interval: u64,
    /// Addresses to publish in the status: IP addresses or host names.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "ADDRESS,...",
        conflicts_with = "publish_service"
    )]
    pub(crate) publish_status_address: Vec<String>,
    /// Service whose addresses are published in the status.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = object_key)]
    pub(crate) publish_service: Option<ObjectKey>,
    /// Label selector of the data plane's pods, whose node addresses are published if there are no others [default: labels of
    /// our own pod].
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) publish_pods: Option<String>,
    /// Publish internal addresses of nodes even if they have external ones.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) report_node_internal_ip_address: bool,
    /// Name of the Lease for leader election.
    #[arg(long, default_value = "ingress-controller-leader", value_name = "NAME")]
    pub(crate) election_id: String,
    /// Lease duration before another replica may take over.
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = lease_duration)]
    pub(crate) election_ttl: Duration,
    /// Disable leader election; no status is written then.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) disable_leader_election: bool,
    /// Write no Event `Sync` for each change of an Ingress; Events about reports are still written.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) disable_sync_events: bool,
}

impl ClusterArgs {
    /// Objects to write.
    pub(crate) fn duties(&self) -> Duties {
        let candidacy = || Candidacy {
            lease: self.election_id.clone(),
            duration: self.election_ttl,
        };
        let status = || status::Settings {
            publish: self.publish(),
            // As ingress-nginx, not more often than every five seconds.
            interval: Duration::from_secs(self.status_update_interval.max(5)),
            clear_on_shutdown: self.update_status_on_shutdown,
        };
        Duties {
            election: (!self.disable_leader_election).then(candidacy),
            status: self.update_status.then(status),
            sync_events: !self.disable_sync_events,
        }
    }

    fn publish(&self) -> status::Publish {
        if !self.publish_status_address.is_empty() {
            return status::Publish::Fixed(self.publish_status_address.clone());
        }
        match &self.publish_service {
            Some(service) => status::Publish::Service(service.clone()),
            None => status::Publish::Nodes {
                selector: self.publish_pods.clone(),
                internal: self.report_node_internal_ip_address,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        source: SourceArgs,
        #[arg(long)]
        watch_namespace: Option<String>,
    }

    fn origin(line: &str, in_cluster: bool) -> Result<ObjectSource, String> {
        let words = ["sluice"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.source
            .origin(in_cluster)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_folder_is_followed_wherever_it_runs() {
        let folder = Ok(ObjectSource::Files(PathBuf::from("m")));
        assert_eq!(origin("--manifests m", false), folder);
        assert_eq!(origin("--manifests m", true), folder);
        assert_eq!(origin("--source files --manifests m", true), folder);
    }

    #[test]
    fn a_cluster_is_the_default_only_inside_of_it() {
        assert_eq!(origin("", true), Ok(ObjectSource::Kube));
        assert_eq!(origin("--kubeconfig k", false), Ok(ObjectSource::Kube));
        assert_eq!(origin("--source kube", false), Ok(ObjectSource::Kube));
        assert!(
            origin("", false)
                .unwrap_err()
                .starts_with("nothing to serve")
        );
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused() {
        for line in [
            "--source kube --manifests m",
            "--kubeconfig k --manifests m",
            "--source files",
            "--watch-namespace n --watch-namespace-selector a=b",
            "--certificate-authority ca",
        ] {
            assert!(origin(line, true).is_err(), "{line}");
        }
    }
}
