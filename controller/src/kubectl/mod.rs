//! The kubectl plugin: `kubectl sluice`, or `sluice kubectl`. As ingress-nginx's, it finds a pod and lets kubectl do the rest, with
//! kubectl's own way to the cluster.

mod pod;

use std::process::ExitCode;

use anyhow::bail;

use crate::args::{
    Backends, BackendsInPod, Certs, CertsInPod, Conf, ConfInPod, DbgCommand, Exec, Explain, InPod,
    Kubectl, KubectlCommand, Lint, Logs, SourceArgs, SourceKind,
};
use crate::{check, explain, lint, render};
use pod::{Component, Pod, kubectl, run};

/// Runs a command of the plugin; its exit code is kubectl's.
pub(crate) fn plugin(args: Kubectl) -> anyhow::Result<ExitCode> {
    match args.command {
        KubectlCommand::Check(args) => check::check(&args),
        KubectlCommand::Lint(args) => lint::lint(&Lint {
            source: match args.paths.is_empty() {
                true => of_the_cluster(args.source),
                false => args.source,
            },
            ..args
        }),
        KubectlCommand::Explain(args) => {
            explain::explain(&Explain {
                source: of_the_cluster(args.source),
                ..args
            })?;
            Ok(ExitCode::SUCCESS)
        }
        KubectlCommand::Render(args) => {
            render::render(&args)?;
            Ok(ExitCode::SUCCESS)
        }
        KubectlCommand::Dbg(args) => dbg(&args.pod, &args.command),
        KubectlCommand::Backends(args) => {
            let pod = args.pod.clone();
            dbg(&pod, &DbgCommand::Backends(backends(args)))
        }
        KubectlCommand::Certs(CertsInPod { pod, host }) => {
            dbg(&pod, &DbgCommand::Certs(Certs::Get { hostname: host }))
        }
        KubectlCommand::Conf(ConfInPod { pod, host }) => {
            dbg(&pod, &DbgCommand::Conf(Conf { host }))
        }
        KubectlCommand::General(pod) => dbg(&pod, &DbgCommand::General),
        KubectlCommand::Ingresses(pod) => dbg(&pod, &DbgCommand::Ingresses(Default::default())),
        KubectlCommand::Info(args) => info(&args),
        KubectlCommand::Logs(args) => logs(&args),
        KubectlCommand::Exec(args) => exec(&args),
        KubectlCommand::Ssh(args) => {
            let pod = Pod::find(&args.pod, Component::of(args.data_plane))?;
            bail!(
                "the image has no shell; this starts one beside it: kubectl --namespace {} debug -it pod/{} --image busybox --target {}",
                pod.namespace,
                pod.name,
                pod.container
            )
        }
    }
}

/// A plugin of kubectl is about its cluster, unless it is told otherwise.
fn of_the_cluster(source: SourceArgs) -> SourceArgs {
    let kind = match source.manifests {
        Some(_) => source.source,
        None => source.source.or(Some(SourceKind::Kube)),
    };
    SourceArgs {
        source: kind,
        ..source
    }
}

fn backends(args: BackendsInPod) -> Backends {
    match args.backend {
        Some(name) => Backends::Get { name },
        None if args.list => Backends::List,
        None => Backends::All,
    }
}

/// `sluice dbg` in the controller's pod: its admin socket is out of reach of everybody else.
fn dbg(args: &InPod, command: &DbgCommand) -> anyhow::Result<ExitCode> {
    let pod = Pod::find(args, Component::Controller)?;
    let words = ["sluice".to_owned(), "dbg".to_owned()];
    run(kubectl(args)
        .args(pod.words("exec"))
        .arg("--")
        .args(words)
        .args(command.words()))
}

/// The table is kubectl's.
fn info(args: &InPod) -> anyhow::Result<ExitCode> {
    let namespace = match &args.namespace {
        Some(namespace) => format!("--namespace={namespace}"),
        None => "--all-namespaces".to_owned(),
    };
    let selector = Component::DataPlane.selector(&args.selector);
    run(kubectl(args)
        .args(["get", "services", "--output=wide"])
        .arg(namespace)
        .arg(format!("--selector={selector}")))
}

fn logs(args: &Logs) -> anyhow::Result<ExitCode> {
    let pod = Pod::find(&args.pod.pod, Component::of(args.pod.data_plane))?;
    let switches = [
        (args.follow, "--follow"),
        (args.previous, "--previous"),
        (args.timestamps, "--timestamps"),
    ];
    let switches = switches.iter().filter(|(is_on, _)| *is_on);
    let mut flags: Vec<String> = switches.map(|(_, flag)| (*flag).to_owned()).collect();
    let number = |flag: &str, value: String| format!("--{flag}={value}");
    flags.extend(args.tail.map(|lines| number("tail", lines.to_string())));
    flags.extend(args.since.clone().map(|time| number("since", time)));
    flags.extend(
        args.since_time
            .clone()
            .map(|time| number("since-time", time)),
    );
    flags.extend(
        args.limit_bytes
            .map(|bytes| number("limit-bytes", bytes.to_string())),
    );
    run(kubectl(&args.pod.pod).args(pod.words("logs")).args(flags))
}

fn exec(args: &Exec) -> anyhow::Result<ExitCode> {
    let pod = Pod::find(&args.pod.pod, Component::of(args.pod.data_plane))?;
    let mut command = kubectl(&args.pod.pod);
    command.args(pod.words("exec"));
    for (is_on, flag) in [(args.stdin, "--stdin"), (args.tty, "--tty")] {
        if is_on {
            command.arg(flag);
        }
    }
    run(command.arg("--").args(&args.command))
}

#[cfg(test)]
mod tests {
    use crate::args::{Args, Command};

    fn words_of(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    /// Commands of ingress-nginx's plugin, 1.12, with the flags that its documentation shows.
    #[test]
    fn commands_of_ingress_nginx_s_plugin_are_there() {
        for line in [
            "backends -n ingress-nginx",
            "backends --list",
            "backends --backend=default-apple-service-5678",
            "certs --host localhost --pod a",
            "conf --host testaddr.local",
            "exec -i -t --pod a -- ls /etc",
            "general",
            "info -n ingress-nginx",
            "ingresses",
            "ingress -l app=sluice",
            "lint --output json",
            "logs -f --tail 5 --since 1h --timestamps",
            "ssh",
        ] {
            let line = format!("sluice kubectl {line}");
            let args = Args::parse_from_words(words_of(&line));
            let args = args.unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(matches!(args.command, Command::Kubectl(_)), "{line}");
        }
    }

    /// Each command is handed to the pod as it was read here.
    #[test]
    fn words_of_dbg_are_read_as_what_they_were() {
        for line in [
            "backends all",
            "backends list",
            "backends get -- a b",
            "certs get a.example",
            "certs get -- --x",
            "conf",
            "conf --host=a.example",
            "general",
            "xds",
            "reports",
            "reports --output=json",
            "ingresses",
            "ingresses --output=json",
        ] {
            let parsed = |words: &[String]| {
                let words = ["sluice".to_owned(), "dbg".to_owned()]
                    .into_iter()
                    .chain(words.to_vec());
                match Args::parse_from_words(words).unwrap().command {
                    Command::Dbg(dbg) => dbg.command,
                    other => panic!("{other:?}"),
                }
            };
            // `a b` is one word.
            let words: Vec<String> = match line {
                "backends get -- a b" => ["backends", "get", "--", "a b"].map(str::to_owned).into(),
                line => line.split(' ').map(str::to_owned).collect(),
            };
            let command = parsed(&words);
            assert_eq!(
                format!("{:?}", parsed(&command.words())),
                format!("{command:?}"),
                "{line}"
            );
        }
    }
}
