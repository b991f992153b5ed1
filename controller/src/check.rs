//! The command `sluice check`: reads what [`sluice_check`] judges. The flags of the controller are those of its pod, read as the
//! controller reads them.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use futures::future::join_all;
use sluice_check::{
    Account, Before, Checklist, Controller, Facts, Flags, HostCertificate, Installation, Needs,
    Read, Right, Served, Server, Settings, Status, discovery,
};
use sluice_ir::SecretValue;
use sluice_kube::{Inspection, Permission, is_in_cluster};
use sluice_lint::{Extent, FailOn, examine};
use sluice_source::{Collected, Event};
use sluice_translate::{Options, ids, translate};

use crate::args::{Args, Check, CheckOutput, Command, Run};
use crate::{cluster_events, options, output};

/// Time between two looks with `--wait`.
const PAUSE: Duration = Duration::from_secs(2);
/// Namespace that docs/install.md installs into.
const NAMESPACE: &str = "sluice-system";
/// `--healthz-port` of a controller whose flags cannot be read.
const METRICS_PORT: u16 = 10254;

/// Reads, judges, prints.
pub(crate) fn check(args: &Check) -> anyhow::Result<ExitCode> {
    let until = Instant::now() + args.wait;
    let mut list = look(args)?;
    while list.status() == Status::Failure && Instant::now() + PAUSE <= until {
        std::thread::sleep(PAUSE);
        list = look(args)?;
    }
    output::print(&match args.output {
        CheckOutput::Text => list.text(args.color.are_used()),
        CheckOutput::Json => list.json(),
    })?;
    Ok(match list.status() {
        Status::Failure => ExitCode::FAILURE,
        Status::Warning if args.strict => ExitCode::FAILURE,
        Status::Ok | Status::Warning => ExitCode::SUCCESS,
    })
}

/// One look, with a runtime of its own: what it watches ends with it.
fn look(args: &Check) -> anyhow::Result<Checklist> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("runtime")?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let settings = Settings {
        now: i64::try_from(now.unwrap_or_default().as_secs())?,
        certificate_days: args.certificate_days,
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(runtime.block_on(async {
        let inspection = match Inspection::start(&args.access.access()).await {
            Ok(inspection) => inspection,
            Err(error) => return sluice_check::unreachable(&format!("{error:#}")),
        };
        match args.pre {
            true => sluice_check::before(&before(args, &inspection).await),
            false => sluice_check::running(&facts(args, &inspection).await, &settings),
        }
    }))
}

async fn server(inspection: &Inspection) -> Server {
    Server {
        url: inspection.url.clone(),
        version: inspection.version().await,
    }
}

async fn before(args: &Check, inspection: &Inspection) -> Before {
    let namespace = args.namespace.as_deref().unwrap_or(NAMESPACE);
    let webhooks = inspection.list().await;
    Before {
        server: server(inspection).await,
        rights: asked(
            inspection,
            &Account::Own,
            sluice_check::of_installer(namespace),
        )
        .await,
        ingress_class: args.ingress_class.clone(),
        controller_class: args.controller_class.clone(),
        classes: inspection.list().await,
        services: services(inspection, webhooks.as_deref().unwrap_or_default()).await,
        webhooks,
    }
}

async fn facts(args: &Check, inspection: &Inspection) -> Facts {
    let webhooks = inspection.list().await;
    Facts {
        server: server(inspection).await,
        installation: installation(args, inspection).await,
        classes: inspection.list().await,
        services: services(inspection, webhooks.as_deref().unwrap_or_default()).await,
        webhooks,
    }
}

type Services = BTreeMap<String, Read<Option<discovery::Service>>>;

async fn services(inspection: &Inspection, webhooks: &[discovery::Webhooks]) -> Services {
    let named = discovery::services(webhooks);
    let read = named.into_iter().map(async |(namespace, name)| {
        let service = inspection.get(&namespace, &name).await;
        (format!("{namespace}/{name}"), service)
    });
    join_all(read).await.into_iter().collect()
}

async fn asked(
    inspection: &Inspection,
    account: &Account,
    rights: Vec<Right>,
) -> Vec<(Right, Read<bool>)> {
    let account = match account {
        Account::Own => None,
        Account::Other(name) => Some(name.as_str()),
    };
    let asked = rights.into_iter().map(async |right| {
        let permission = Permission {
            namespace: right.namespace.clone(),
            group: right.group.to_owned(),
            resource: right.resource.to_owned(),
            subresource: right.subresource.to_owned(),
            name: right.name.clone(),
            verb: right.verb.to_owned(),
        };
        let allowed = inspection.may(account, &permission).await;
        (right, allowed)
    });
    join_all(asked).await
}

async fn installation(args: &Check, inspection: &Inspection) -> Read<Installation> {
    let labels = format!("{},app.kubernetes.io/component=controller", args.selector);
    let pods = inspection.list_in(args.namespace.as_deref(), &labels).await;
    let pods = pods.map_err(|error| format!("pods could not be read: {error}"))?;
    let (namespace, pods) = discovery::installation(pods, &labels)?;
    let Some(first) = pods.first() else {
        return Err(format!("no pod in {namespace}"));
    };
    let account = match is_in_cluster() && !args.access.is_given() {
        true => Account::Own,
        false => Account::Other(discovery::account(first)),
    };
    let run = run_flags(discovery::arguments(first));
    let flags = match &run {
        Ok(run) => Ok(flags(run, &namespace)),
        Err(error) => Err(error.clone()),
    };
    let port = match &run {
        Ok(run) => run.admin.healthz_port,
        Err(_) => METRICS_PORT,
    };
    let rights = match &flags {
        Ok(flags) => asked(inspection, &account, flags.needs.rights()).await,
        Err(_) => Vec::new(),
    };
    let labels = format!("{},app.kubernetes.io/component=data-plane", args.selector);
    let labels = match discovery::instance(first) {
        Some(instance) => format!("{labels},app.kubernetes.io/instance={instance}"),
        None => labels,
    };
    let data_planes = inspection.list_in(Some(&namespace), &labels).await;
    let data_planes = data_planes.map(|mut pods| {
        pods.retain(discovery::is_meant_to_run);
        pods
    });
    let secrets = discovery::secrets(first);
    let others = data_planes.iter().flatten().next().map(discovery::secrets);
    let secrets = secrets.into_iter().chain(others.into_iter().flatten());
    let secrets = secrets.map(async |name| {
        let secret = inspection.get(&namespace, &name).await;
        (format!("{namespace}/{name}"), secret)
    });
    Ok(Installation {
        secrets: join_all(secrets).await.into_iter().collect(),
        served: served(args, &run).await,
        controllers: join_all(pods.into_iter().map(async |pod| {
            let name = pod.metadata.name.clone().unwrap_or_default();
            let metrics = inspection.page(&namespace, &name, port, "metrics").await;
            Controller { pod, metrics }
        }))
        .await,
        namespace,
        flags,
        account,
        rights,
        data_planes,
    })
}

/// The flags of a pod's controller, by the parser that it has itself.
fn run_flags(arguments: Option<Vec<String>>) -> Read<Box<Run>> {
    let arguments = arguments.ok_or("no container of the pod has the argument `run`")?;
    let words = std::iter::once("sluice".to_owned()).chain(arguments);
    match Args::parse_from_words(words).map(|args| args.command) {
        Ok(Command::Run(run)) => Ok(run),
        Ok(_) => Err("another command than `run`".to_owned()),
        Err(error) => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            Err(line.trim_start_matches("error: ").to_owned())
        }
    }
}

fn flags(run: &Run, namespace: &str) -> Flags {
    let translation = &run.translation;
    let certificate = run.webhook.validating_webhook_certificate.as_ref();
    let has_webhook = run.webhook.validating_webhook.is_some();
    Flags {
        ingress_class: translation.ingress_class.clone(),
        controller_class: translation.controller_class.clone(),
        class_by_name: translation.ingress_class_by_name,
        without_class: translation.watch_ingress_without_class,
        webhook_certificate: has_webhook
            .then(|| certificate.map_or_else(String::new, |path| path.display().to_string())),
        runs_data_plane: run.data_plane != crate::args::DataPlane::None,
        elects: !run.cluster.disable_leader_election,
        needs: needs(run, namespace),
    }
}

fn needs(run: &Run, namespace: &str) -> Needs {
    let (translation, cluster) = (&run.translation, &run.cluster);
    let elects = !cluster.disable_leader_election;
    let status = cluster.update_status && elects;
    let service = cluster.publish_service.as_ref().filter(|_| status);
    let config_maps = [
        &translation.configmap,
        &translation.tcp_services_configmap,
        &translation.udp_services_configmap,
    ];
    let config_maps = config_maps.into_iter().flatten();
    Needs {
        own: namespace.to_owned(),
        watched: translation.watched().map(str::to_owned),
        namespace_selector: run.source.watch_namespace_selector.is_some(),
        pod_weights: run.source.pod_weights,
        lease: elects.then(|| cluster.election_id.clone()),
        status,
        publish_service: service.map(|key| (key.namespace.to_string(), key.name.to_string())),
        nodes: status && service.is_none() && cluster.publish_status_address.is_empty(),
        config_maps: config_maps
            .filter(|key| &*key.namespace == namespace)
            .map(|key| key.name.to_string())
            .collect(),
    }
}

/// Everything that the controller reads, translated as it does.
async fn served(args: &Check, run: &Read<Box<Run>>) -> Read<Served> {
    let run = run.as_ref().map_err(Clone::clone)?;
    let options = options::translation(&run.translation, &run.listeners, []);
    let options = options::of_a_cluster(options);
    let events = cluster_events::look(&args.access.access(), &run.source, &options).await;
    let events = events.map_err(|error| format!("{error:#}"))?;
    let certificates = certificates(&events, &options);
    let findings = examine(events.into(), &options, Extent::Whole);
    Ok(Served {
        certificates,
        sum: findings.sum(),
        has_errors: findings.fail(FailOn::Error),
    })
}

fn certificates(events: &[Event], options: &Options) -> Vec<HostCertificate> {
    let collected: Collected = events.iter().cloned().collect();
    let translation = translate(&collected.resources, options);
    let config = translation.config();
    let hosts = config.tls.iter().filter_map(|(host, tls)| {
        let secret = tls.certificate.as_ref()?;
        let SecretValue::Certificate { chain, .. } = config.secrets.get(secret)? else {
            return None;
        };
        Some(HostCertificate {
            host: host.to_string(),
            secret: ids::secret_of(secret)?.to_string(),
            chain: chain.clone(),
        })
    });
    hosts.collect()
}
