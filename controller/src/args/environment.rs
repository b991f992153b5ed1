//! Variables of the environment that stand for flags. An empty one is one that is not set, as in most shells and manifests.

use std::ffi::{OsStr, OsString};

use clap::builder::Resettable;
use clap::{Arg, Command};

/// The same command, without the variables that are empty.
pub(super) fn without_empty_variables(
    command: Command,
    variable: &impl Fn(&OsStr) -> Option<OsString>,
) -> Command {
    let is_empty = |arg: &Arg| {
        let value = arg.get_env().and_then(variable);
        value.is_some_and(|value| value.is_empty())
    };
    let command = command.mut_args(|arg| match is_empty(&arg) {
        true => arg.env(Resettable::Reset),
        false => arg,
    });
    command.mut_subcommands(|command| without_empty_variables(command, variable))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Args;

    fn variables(command: &Command) -> Vec<OsString> {
        let of_args = command.get_arguments().filter_map(Arg::get_env);
        let of_args: Vec<OsString> = of_args.map(OsStr::to_owned).collect();
        let others = command.get_subcommands().flat_map(variables);
        of_args.into_iter().chain(others).collect()
    }

    #[test]
    fn of_all_commands_exactly_empty_variables_are_not_read() {
        let all = variables(&Args::command());
        assert!(all.len() > 5, "{all:?}");
        for empty in &all {
            let value = |name: &OsStr| match name == empty {
                true => Some(OsString::new()),
                false => None,
            };
            let left = variables(&without_empty_variables(Args::command(), &value));
            let expected: Vec<_> = all.iter().filter(|name| *name != empty).collect();
            assert_eq!(left.iter().collect::<Vec<_>>(), expected);
        }
    }
}
