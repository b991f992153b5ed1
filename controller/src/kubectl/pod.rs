//! Pods, as kubectl finds them.

use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, anyhow, bail};
use serde::Deserialize;
use sluice_check::discovery;

use crate::args::InPod;

/// Part of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    Controller,
    DataPlane,
}

impl Component {
    pub(super) fn of(data_plane: bool) -> Self {
        match data_plane {
            true => Component::DataPlane,
            false => Component::Controller,
        }
    }

    /// Labels of its pods.
    pub(super) fn selector(self, selector: &str) -> String {
        let component = match self {
            Component::Controller => "controller",
            Component::DataPlane => "data-plane",
        };
        format!("{selector},app.kubernetes.io/component={component}")
    }
}

/// One pod.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) namespace: String,
    pub(super) name: String,
    /// The container with Sluice in it.
    pub(super) container: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Found {
    List { items: Vec<discovery::Pod> },
    One(Box<discovery::Pod>),
}

impl Pod {
    /// The pod that is named, or a ready one of the only installation.
    pub(super) fn find(args: &InPod, component: Component) -> anyhow::Result<Pod> {
        let mut command = kubectl(args);
        command.args(["get", "pods", "--output=json"]);
        if let Some(namespace) = &args.namespace {
            command.arg(format!("--namespace={namespace}"));
        }
        let selector = component.selector(&args.selector);
        match (&args.pod, &args.namespace) {
            (Some(pod), _) => drop(command.arg("--").arg(pod)),
            (None, Some(_)) => drop(command.arg(format!("--selector={selector}"))),
            (None, None) => {
                command.arg("--all-namespaces");
                command.arg(format!("--selector={selector}"));
            }
        }
        let pods =
            match serde_json::from_slice(&output(&mut command)?).context("kubectl get pods")? {
                Found::List { items } => items,
                Found::One(pod) => vec![*pod],
            };
        let advice = "--namespace, --selector and --pod choose one";
        let (namespace, pods) = match args.pod {
            Some(_) => (String::new(), pods),
            None => discovery::installation(pods, &selector)
                .map_err(|error| anyhow!("{error}; {advice}"))?,
        };
        let ready = pods.iter().find(|pod| discovery::is_ready(pod));
        let pod = ready
            .or(pods.first())
            .with_context(|| format!("no pod in {namespace}; {advice}"))?;
        let container = discovery::container(pod);
        Ok(Pod {
            namespace: pod.metadata.namespace.clone().unwrap_or_default(),
            name: pod.metadata.name.clone().unwrap_or_default(),
            container: container.context("the pod has no container")?,
        })
    }

    /// Words that name it to kubectl, behind a verb.
    pub(super) fn words(&self, verb: &str) -> [String; 4] {
        [
            verb.to_owned(),
            format!("--namespace={}", self.namespace),
            format!("--container={}", self.container),
            format!("pod/{}", self.name),
        ]
    }
}

/// kubectl, with the way to the cluster.
pub(super) fn kubectl(args: &InPod) -> Command {
    let mut command = Command::new("kubectl");
    if let Some(path) = &args.kubeconfig {
        command.arg("--kubeconfig").arg(path);
    }
    if let Some(context) = &args.context {
        command.arg(format!("--context={context}"));
    }
    command
}

const MISSING: &str = "kubectl: this is a plugin of it, and needs it in PATH";

/// Output of kubectl, whose messages go to standard error.
fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().context(MISSING)?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let messages: Vec<&str> = messages.lines().filter(|line| !is_of_klog(line)).collect();
    match output.status.success() {
        true => {
            for message in messages {
                writeln!(io::stderr(), "{message}")?;
            }
            Ok(output.stdout)
        }
        false if messages.is_empty() => bail!("kubectl get pods: {}", output.status),
        false => bail!("kubectl get pods: {}", messages.join("; ")),
    }
}

/// `E1127 08:00:00.000000   12345 memcache.go:265] ...`: kubectl logs each attempt before it says what is wrong.
fn is_of_klog(line: &str) -> bool {
    let Some((head, _)) = line.split_once(' ') else {
        return false;
    };
    let date = head.strip_prefix(['I', 'W', 'E', 'F']);
    date.is_some_and(|date| date.len() == 4 && date.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Runs kubectl in the place of this program: its input, output and exit code.
pub(super) fn run(command: &mut Command) -> anyhow::Result<ExitCode> {
    let status = command.status().context(MISSING)?;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    Ok(code
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
