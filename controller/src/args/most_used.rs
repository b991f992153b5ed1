//! The flags of `sluice run` that most need: its help begins with them.

/// In the order of the help.
const MOST_USED: [&str; 13] = [
    "source",
    "manifests",
    "kubeconfig",
    "data_plane",
    "http_port",
    "https_port",
    "ingress_class",
    "controller_class",
    "watch_namespace",
    "configmap",
    "default_ssl_certificate",
    "publish_service",
    "dashboard_port",
];

/// Help shows headings in the order of their first flags, and `source` is the first of all.
pub(super) fn first(command: clap::Command) -> clap::Command {
    let place = |id: &str| MOST_USED.iter().position(|name| *name == id);
    command.mut_subcommand("run", |run| {
        run.mut_args(|arg| match place(arg.get_id().as_str()) {
            Some(place) => arg.help_heading("Most used").display_order(place),
            None => arg,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::Args;
    use super::*;

    #[test]
    fn help_of_run_begins_with_what_most_need() {
        let help = Args::parse_from_words(["sluice", "run", "-h"])
            .unwrap_err()
            .to_string();
        let (_, groups) = help.split_once("Most used:\n").unwrap();
        let first: Vec<&str> = groups
            .lines()
            .filter_map(|line| line.trim().strip_prefix("--")?.split([' ', '[']).next())
            .take(MOST_USED.len())
            .collect();
        assert_eq!(first, MOST_USED.map(|id| id.replace('_', "-")));
        assert!(
            !help
                .split_once("Most used:")
                .unwrap()
                .0
                .contains("\n\nSource:")
        );
    }
}
