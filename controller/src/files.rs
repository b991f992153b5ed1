//! Open files: a connection of a client takes one, and another one to its pod. Whoever runs out of them serves nobody.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For listeners, logs, the admin socket, xDS, and connections to pods that rest.
const RESERVE: u64 = 1024;
/// Stands for no limit: more than a machine holds.
const UNLIMITED: u64 = 1 << 21;

/// Lets this process, and the data planes that it starts, have as many as the system allows it. What that is.
pub(crate) fn allow_all() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // A limit that cannot be raised goes on holding.
    let held = if setrlimit(Resource::Nofile, all).is_ok() {
        limit.maximum
    } else {
        limit.current
    };
    held.unwrap_or(UNLIMITED).min(UNLIMITED)
}

/// Clients' connections for which so many files are enough.
pub(crate) fn connections(files: u64) -> u64 {
    (files.saturating_sub(RESERVE) / 2).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_all_else() {
        for files in [0, 1024, 1025, 1026, 20_000, 1 << 20, u64::MAX] {
            let connections = connections(files);
            assert!(
                connections == 1 || 2 * connections + RESERVE <= files,
                "{files}: {connections}"
            );
        }
    }

    #[test]
    fn what_the_system_allows_is_what_holds() {
        let all = allow_all();
        assert_eq!(
            getrlimit(Resource::Nofile)
                .current
                .unwrap_or(UNLIMITED)
                .min(UNLIMITED),
            all
        );
    }
}
