//! `kubectl sluice`: the words of ingress-nginx's plugin.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, FromArgMatches, Subcommand};

use super::{Args, Check, Command, DbgCommand, Explain, Lint, Render};

/// Name of the program that kubectl looks for.
const PLUGIN: &str = "kubectl-sluice";

/// Its name where people type it.
const TYPED: &str = "kubectl sluice";

/// True if kubectl has called this program.
pub(super) fn is_plugin(words: &[OsString]) -> bool {
    let name = words.first().and_then(|word| Path::new(word).file_name());
    name == Some(OsStr::new(PLUGIN))
}

/// Flags of all commands, which kubectl takes in front of a command as well as behind it.
const IN_FRONT: [&str; 7] = [
    "--namespace",
    "-n",
    "--pod",
    "--selector",
    "-l",
    "--kubeconfig",
    "--context",
];

/// The words with these flags behind the plugin's command, where clap looks for them.
pub(super) fn with_flags_behind(words: Vec<OsString>) -> Vec<OsString> {
    let begin = match is_plugin(&words) {
        true => 1,
        false if words.get(1).is_some_and(|word| word == "kubectl") => 2,
        false => return words,
    };
    let mut end = begin;
    while let Some(word) = words.get(end).and_then(|word| word.to_str()) {
        let has_value = IN_FRONT.iter().any(|flag| match flag.strip_prefix("--") {
            Some(_) => word
                .strip_prefix(flag)
                .is_some_and(|rest| rest.starts_with('=')),
            None => word.len() > flag.len() && word.starts_with(flag),
        });
        match (has_value, IN_FRONT.contains(&word)) {
            (true, _) => end += 1,
            (false, true) => end += 2,
            (false, false) => break,
        }
    }
    let is_command = |word: &OsString| !word.to_string_lossy().starts_with('-');
    let mut words = words;
    if words.get(end).is_some_and(is_command) {
        // The command comes first.
        words[begin..=end].rotate_right(1);
    }
    words
}

/// The command line of the plugin.
pub(super) fn parse(words: Vec<OsString>) -> Result<Args, clap::Error> {
    let words = with_flags_behind(words);
    let mut command = super::as_ingress_nginx(command());
    let matches = command.try_get_matches_from_mut(words)?;
    let kubectl =
        Kubectl::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok(Args {
        command: Command::Kubectl(Box::new(kubectl)),
    })
}

/// The command `sluice kubectl` as one of its own: clap names commands by those above them.
fn command() -> clap::Command {
    let command = clap::Command::new(TYPED)
        .bin_name(TYPED)
        .about("Find a pod of Sluice, and inspect it")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true);
    Kubectl::augment_args(command).mut_subcommands(as_typed)
}

/// The command with the examples of its help as kubectl takes them.
fn as_typed(command: clap::Command) -> clap::Command {
    let help = command.get_after_help().map(ToString::to_string);
    let command = match help {
        Some(help) => command.after_help(help.replace("\n  sluice ", "\n  kubectl sluice ")),
        None => command,
    };
    command.mut_subcommands(as_typed)
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "kubectl runs it as `kubectl sluice` where kubectl-sluice, a link to sluice, is in PATH. Commands of `kubectl \
    ingress-nginx` are there under their names; `check`, `lint` and `explain` are those of sluice, and read the cluster. Examples:\n  \
    kubectl sluice check\n  \
    kubectl sluice backends --list\n  \
    kubectl sluice certs --host shop.example\n  \
    kubectl sluice dbg reports\n  \
    kubectl sluice logs --follow"
)]
pub(crate) struct Kubectl {
    #[command(subcommand)]
    pub(crate) command: KubectlCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KubectlCommand {
    /// Check an installation, or with --pre a cluster before one, and say what to do.
    Check(Box<Check>),
    /// Check which Ingresses of the cluster work unchanged, with differences, or not at all.
    Lint(Lint),
    /// Explain what becomes of one request to the cluster.
    Explain(Explain),
    /// Write the translation of a directory of manifests to files.
    Render(Render),
    /// Inspect the controller, as `sluice dbg` in its pod.
    Dbg(DbgInPod),
    /// Inspect backends.
    Backends(BackendsInPod),
    /// Print the certificate chain of a host.
    Certs(CertsInPod),
    /// Print the whole configuration.
    Conf(ConfInPod),
    /// Print the general settings.
    General(InPod),
    /// Print the paths that each Ingress serves.
    #[command(alias = "ingress")]
    Ingresses(InPod),
    /// Print the Services of the data plane with their addresses.
    Info(InPod),
    /// Print the log of a pod.
    Logs(Logs),
    /// Run a command in a pod.
    Exec(Exec),
    /// Print how to get a shell beside a pod, whose image has none.
    Ssh(AnyPod),
}

/// The way to the cluster, as kubectl's.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Pod")]
pub(crate) struct InPod {
    /// Namespace of Sluice's pods [default: all].
    #[arg(long, short, global = true, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Name of the pod [default: a ready one with the labels].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) pod: Option<String>,
    /// Label selector of Sluice's pods, beside app.kubernetes.io/component.
    #[arg(
        long,
        short = 'l',
        global = true,
        value_name = "SELECTOR",
        default_value = "app.kubernetes.io/name=sluice"
    )]
    pub(crate) selector: String,
    /// Path to a kubeconfig [default: as kubectl].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current one].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// A pod of the controller or of the data plane.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct AnyPod {
    #[command(flatten)]
    pub(crate) pod: InPod,
    /// A pod of the data plane, in the place of the controller's.
    #[arg(long)]
    pub(crate) data_plane: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DbgInPod {
    #[command(flatten)]
    pub(crate) pod: InPod,
    #[command(subcommand)]
    pub(crate) command: DbgCommand,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BackendsInPod {
    #[command(flatten)]
    pub(crate) pod: InPod,
    /// Print names only.
    #[arg(long, conflicts_with = "backend")]
    pub(crate) list: bool,
    /// Name of one backend, such as default-web-80.
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CertsInPod {
    #[command(flatten)]
    pub(crate) pod: InPod,
    /// The host; `_` for the default certificate.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfInPod {
    #[command(flatten)]
    pub(crate) pod: InPod,
    /// Print that of one host.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) pod: AnyPod,
    /// Follow the log.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// That of the container's last run.
    #[arg(long, short)]
    pub(crate) previous: bool,
    /// With a timestamp in front of each line.
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// Lines from the end.
    #[arg(long, value_name = "LINES")]
    pub(crate) tail: Option<i64>,
    /// Not older than this, such as 5s, 2m or 3h.
    #[arg(long, value_name = "DURATION", conflicts_with = "since_time")]
    pub(crate) since: Option<String>,
    /// Not older than this time (RFC 3339).
    #[arg(long, value_name = "TIME")]
    pub(crate) since_time: Option<String>,
    /// Bytes at most.
    #[arg(long, value_name = "BYTES")]
    pub(crate) limit_bytes: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Exec {
    #[command(flatten)]
    pub(crate) pod: AnyPod,
    /// Pass standard input on.
    #[arg(long, short = 'i')]
    pub(crate) stdin: bool,
    /// Allocate a terminal.
    #[arg(long, short = 't')]
    pub(crate) tty: bool,
    /// The command and its arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_name_of_the_program_makes_it_a_plugin() {
        assert!(is_plugin(&words("/bin/kubectl-sluice dbg conf")));
        assert!(!is_plugin(&words("sluice dbg conf")));
        assert!(!is_plugin(&words("/a/kubectl-sluice/sluice run")));
        let args = parse(words("/bin/kubectl-sluice dbg conf")).unwrap();
        assert!(matches!(args.command, Command::Kubectl(_)));
    }

    #[test]
    fn flags_of_all_commands_are_taken_on_both_sides_of_one() {
        for line in [
            "kubectl-sluice backends --namespace foo --context=c",
            "kubectl-sluice --namespace foo --context=c backends",
            "kubectl-sluice -nfoo --context c backends",
            "kubectl-sluice -n foo backends --context c",
        ] {
            let Command::Kubectl(kubectl) = parse(words(line)).unwrap().command else {
                panic!("another command")
            };
            let KubectlCommand::Backends(backends) = kubectl.command else {
                panic!("{line}")
            };
            let InPod {
                namespace, context, ..
            } = backends.pod;
            let found = (namespace.as_deref(), context.as_deref());
            assert_eq!(found, (Some("foo"), Some("c")), "{line}");
        }
        let of_sluice = words("sluice kubectl --namespace foo dbg conf");
        let expected = words("sluice kubectl dbg --namespace foo conf");
        assert_eq!(with_flags_behind(of_sluice), expected);
        for same in [
            "kubectl-sluice --namespace foo",
            "kubectl-sluice --namespace",
            "kubectl-sluice --help",
            "kubectl-sluice --names foo backends",
            "sluice run --namespace foo x",
            "sluice",
        ] {
            assert_eq!(with_flags_behind(words(same)), words(same), "{same}");
        }
    }

    /// The names of a command and of all below it.
    fn names(command: &clap::Command, above: &str) -> Vec<String> {
        let below = command.get_subcommands().flat_map(|command| {
            let name = format!("{above} {}", command.get_name());
            let below = names(command, &name);
            [name].into_iter().chain(below)
        });
        below.collect()
    }

    #[test]
    fn usage_and_examples_of_every_command_are_what_is_typed() {
        let all = names(&command(), TYPED);
        assert!(all.len() > 20, "{all:?}");
        for name in all.iter().map(String::as_str).chain([TYPED]) {
            let line = format!("{} --help", name.replacen(TYPED, PLUGIN, 1));
            let help = parse(words(&line)).unwrap_err().to_string();
            let usage = help.lines().find(|line| line.starts_with("Usage:"));
            let expected = format!("Usage: {name}");
            assert!(
                usage.is_some_and(|usage| usage.starts_with(&expected)),
                "{name}: {help}"
            );
            for wrong in ["kubectl-sluice ", "sluice kubectl", "\n  sluice "] {
                assert!(!help.contains(wrong), "{name}: {wrong:?}: {help}");
            }
        }
    }

    #[test]
    fn an_error_names_the_command_as_it_is_typed() {
        for (line, usage) in [
            ("kubectl-sluice certs", "Usage: kubectl sluice certs --host"),
            ("kubectl-sluice dbg nothing", "Usage: kubectl sluice dbg"),
        ] {
            let error = parse(words(line)).unwrap_err().to_string();
            assert!(error.contains(usage), "{error}");
        }
    }
}
