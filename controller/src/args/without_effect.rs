//! Flags of ingress-nginx that are accepted and have no effect: a Deployment keeps its arguments, and the log says why.

use clap::{Arg, ArgAction, ArgMatches, Command};

/// A flag, and the reason.
struct Flag {
    name: &'static str,
    takes_value: bool,
    reason: &'static str,
}

const fn switch(name: &'static str, reason: &'static str) -> Flag {
    Flag {
        name,
        takes_value: false,
        reason,
    }
}

const fn value(name: &'static str, reason: &'static str) -> Flag {
    Flag {
        name,
        takes_value: true,
        reason,
    }
}

#[rustfmt::skip]
const FLAGS: &[Flag] = &[
    switch("alsologtostderr", "the log is on stderr"),
    value("bucket-factor", "there are no native histograms"),
    value("default-server-port", "the data plane answers 404 itself"),
    switch("disable-full-test", "admission looks at what shares paths with an Ingress and at nothing else"),
    value("dynamic-configuration-retries", "data planes are told until they know"),
    switch("enable-annotation-validation", "annotations are always validated"),
    value("internal-logger-address", "there is no chroot"),
    switch("logtostderr", "the log is on stderr"),
    value("max-buckets", "there are no native histograms"),
    switch("metrics-per-undefined-host", "requests that no Ingress takes are not counted"),
    value("monitor-max-batch-size", "requests are counted in the data plane"),
    switch("profiling", "nothing is measured until a profile is asked for"),
    value("ssl-passthrough-proxy-port", "TLS is told apart on --https-port itself"),
    value("stderrthreshold", "the log is on stderr"),
    value("stream-port", "there is no such port"),
    value("sync-period", "watches tell of every change"),
    value("sync-rate-limit", "a change costs what it changes"),
];

/// The command with these flags, which help does not show.
pub(super) fn accepted(command: Command) -> Command {
    command.mut_subcommand("run", |run| run.args(FLAGS.iter().map(Flag::arg)))
}

impl Flag {
    fn arg(&self) -> Arg {
        let arg = Arg::new(self.name).long(self.name).hide(true);
        let arg = arg.action(ArgAction::Append);
        if self.takes_value {
            arg.num_args(1).allow_hyphen_values(true)
        } else {
            arg.num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
        }
    }
}

/// Those that were given, each with its reason.
pub(super) fn given(matches: &ArgMatches) -> Vec<String> {
    let run = matches.subcommand_matches("run");
    let is_given = |flag: &&Flag| run.is_some_and(|run| run.contains_id(flag.name));
    let given = FLAGS.iter().filter(is_given);
    given
        .map(|Flag { name, reason, .. }| format!("--{name} has no effect: {reason}"))
        .collect()
}

/// True if a flag is accepted.
#[cfg(test)]
pub(super) fn is_accepted(name: &str) -> bool {
    FLAGS.iter().any(|flag| flag.name == name)
}

#[cfg(test)]
mod tests {
    use crate::args::{Args, Command};

    #[test]
    fn flags_without_effect_are_accepted_and_told() {
        let given = |flags: &[&str]| {
            let words = ["sluice", "run", "--manifests", "."].iter().chain(flags);
            match Args::parse_from_words(words.copied()).unwrap().command {
                Command::Run(run) => run.without_effect,
                other => panic!("{other:?}"),
            }
        };
        assert!(given(&[]).is_empty());
        let all = given(&[
            "--sync-period=10s",
            "--ssl-passthrough-proxy-port",
            "442",
            "--profiling=false",
            "--profiling",
            "--http-port=1",
        ]);
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(
            all[2].starts_with("--sync-period has no effect: watches tell"),
            "{all:?}"
        );
        let render = [
            "sluice",
            "render",
            "--manifests",
            ".",
            "--out",
            "x",
            "--sync-period=1s",
        ];
        assert!(Args::parse_from_words(render).is_err());
    }
}
