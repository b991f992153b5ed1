//! Repeated flags, as pflag reads them, which ingress-nginx uses.

use clap::{Arg, ArgAction, Command};

/// Of a repeated flag the last value counts; a list takes all.
pub(super) fn last_counts(command: Command) -> Command {
    let is_single = |arg: &Arg| {
        !arg.is_positional()
            && matches!(arg.get_action(), ArgAction::Set | ArgAction::SetTrue)
            && arg.get_value_delimiter().is_none()
    };
    let command = command.mut_args(|arg| match is_single(&arg) {
        true => {
            let id = arg.get_id().clone();
            arg.overrides_with(id)
        }
        false => arg,
    });
    command.mut_subcommands(last_counts)
}

#[cfg(test)]
mod tests {
    use crate::args::{Args, Command};

    #[test]
    fn of_a_repeated_flag_the_last_value_counts_and_a_list_takes_all() {
        let parse = |flags: &[&str]| {
            let words = ["sluice", "run", "--manifests", "."].iter().chain(flags);
            match Args::parse_from_words(words.copied()).unwrap().command {
                Command::Run(run) => run,
                other => panic!("{other:?}"),
            }
        };
        let run = parse(&[
            "--http-port=1",
            "--http-port",
            "2",
            "--ingress-class=a",
            "--ingress-class=b",
        ]);
        assert_eq!(run.listeners.http_port, 2);
        assert_eq!(run.translation.ingress_class, "b");
        let run = parse(&["--enable-ssl-passthrough", "--enable-ssl-passthrough=false"]);
        assert!(!run.translation.enable_ssl_passthrough);
        let both = [
            "--allow-upstream-cidr=10.0.0.0/8",
            "--allow-upstream-cidr=11.0.0.0/8",
        ];
        assert_eq!(parse(&both).translation.allow_upstream_cidr.len(), 2);
    }
}
