//! Areas of the original that have no counterpart here, each with the reason.

use super::case::{Cannot, Case, Play};

const REASONS: [(&str, &str); 3] = [
    (
        "config-endpoint",
        "the original's controller posts to its nginx; here the data plane asks the controller (long-poll, xDS), and \
         nothing listens for configuration",
    ),
    (
        "dns",
        "the original resolves names in Lua; here the data plane's own resolver does, and the filter never sees a name",
    ),
    (
        "split",
        "a helper of the original's Lua with any delimiter; its one use, `$upstream_addr`, is area upstream-var",
    ),
];

pub(super) fn play(case: &Case) -> Play {
    let reason = REASONS.iter().find(|(area, _)| *area == case.area);
    Err(Cannot(reason.map_or_else(
        || format!("unknown area {:?}", case.area),
        |(_, reason)| (*reason).to_owned(),
    )))
}
