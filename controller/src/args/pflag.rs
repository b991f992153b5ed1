//! Flags as pflag reads them, which ingress-nginx uses: of a repeated one the last value counts, a list takes all, and a switch
//! takes what Go's `strconv.ParseBool` takes.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, Command};

const ON: [&str; 5] = ["1", "t", "T", "TRUE", "True"];
const OFF: [&str; 5] = ["0", "f", "F", "FALSE", "False"];

/// The same command, read so.
pub(super) fn as_pflag(command: Command) -> Command {
    let is_single = |arg: &Arg| {
        !arg.is_positional()
            && matches!(arg.get_action(), ArgAction::Set | ArgAction::SetTrue)
            && arg.get_value_delimiter().is_none()
    };
    let command = command.mut_args(|arg| {
        let arg = if is_switch(&arg) {
            arg.value_parser(switch())
        } else {
            arg
        };
        match is_single(&arg) {
            true => {
                let id = arg.get_id().clone();
                arg.overrides_with(id)
            }
            false => arg,
        }
    });
    command.mut_subcommands(as_pflag)
}

fn is_switch(arg: &Arg) -> bool {
    let values = arg.get_possible_values();
    matches!(arg.get_action(), ArgAction::Set)
        && values
            .iter()
            .map(PossibleValue::get_name)
            .eq(["true", "false"])
}

fn switch() -> impl TypedValueParser<Value = bool> {
    let [on, off] = [("true", ON), ("false", OFF)]
        .map(|(name, others)| PossibleValue::new(name).aliases(others));
    PossibleValuesParser::new([on, off]).map(|text| text == "true" || ON.contains(&text.as_str()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::{Args, Command};

    #[test]
    fn every_switch_takes_what_go_takes() {
        let texts = ON.iter().chain(&["true"]).map(|text| (*text, true));
        let texts = texts.chain(OFF.iter().chain(&["false"]).map(|text| (*text, false)));
        let command = as_pflag(Args::command());
        let run = command.find_subcommand("run").unwrap();
        let switches: Vec<&Arg> = run.get_arguments().filter(|arg| is_switch(arg)).collect();
        assert!(switches.len() >= 10, "{}", switches.len());
        for switch in switches {
            let flag = switch.get_long().unwrap();
            for (text, expected) in texts.clone() {
                let words = ["sluice", "run", &format!("--{flag}={text}")];
                let found = command.clone().try_get_matches_from(words).unwrap();
                let run = found.subcommand_matches("run").unwrap();
                let id = switch.get_id().as_str();
                assert_eq!(run.get_one::<bool>(id), Some(&expected), "--{flag}={text}");
            }
            let words = ["sluice", "run", &format!("--{flag}=yes")];
            assert!(
                command.clone().try_get_matches_from(words).is_err(),
                "{flag}"
            );
        }
    }

    /// Not in the words of a parser of Rust's.
    #[test]
    fn a_value_that_cannot_be_parsed_names_its_form() {
        for (flag, expected) in [
            ("--dns-server=foo", "expected IP:PORT"),
            ("--drain-timeout=soon", "expected a number of seconds"),
            (
                "--health-check-timeout=soon",
                "expected a number of seconds",
            ),
            ("--time-buckets=3,2,1", "expected increasing numbers"),
        ] {
            let error = Args::parse_from_words(["sluice", "run", "--manifests=.", flag]);
            let error = error.unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let text = error.to_string();
            assert!(
                text.contains(expected) && text.ends_with("--help'.\n"),
                "{text}"
            );
        }
    }

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
