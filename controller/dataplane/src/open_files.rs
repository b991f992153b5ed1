//! The limit of open files. A proxied connection takes two: one to the client, one to the upstream.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files for listeners, logs, the admin socket, xDS and idle upstream connections.
const RESERVED: u64 = 1024;
/// Stands for no limit: more than a machine can hold open.
const UNLIMITED: u64 = 1 << 21;

/// Raises the limit of this process, and of the data planes that it starts, to the hard limit. Returns the limit in effect.
#[must_use]
pub fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // A limit that cannot be raised stays in effect.
    let in_effect = if setrlimit(Resource::Nofile, raised).is_ok() {
        limit.maximum
    } else {
        limit.current
    };
    in_effect.unwrap_or(UNLIMITED).min(UNLIMITED)
}

/// The number of client connections that a number of open files is enough for.
#[must_use]
pub fn max_connections(files: u64) -> u64 {
    (files.saturating_sub(RESERVED) / 2).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_connections_leaves_reserved_files() {
        for files in [0, 1024, 1025, 1026, 20_000, 1 << 20, u64::MAX] {
            let connections = max_connections(files);
            assert!(
                connections == 1 || 2 * connections + RESERVED <= files,
                "{files}: {connections}"
            );
        }
    }

    #[test]
    fn raised_limit_is_in_effect() {
        let raised = raise_limit();
        assert_eq!(
            getrlimit(Resource::Nofile)
                .current
                .unwrap_or(UNLIMITED)
                .min(UNLIMITED),
            raised
        );
    }
}
