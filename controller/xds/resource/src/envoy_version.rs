//! Versions of Envoy, and what is known of those that are not to be used.

/// The minor version that tests run with.
pub const TESTED_ENVOY: &str = "1.40";

/// Minor versions, and their first releases that let no client go past policies behind an `Upgrade`. Later ones begin so.
const FIXED: [(u32, u32); 3] = [(37, 6), (38, 4), (39, 1)];

/// A flaw of an Envoy of this version, to be read after its name; `None`: none is known.
#[must_use]
pub fn flaw_of_envoy(version: &str) -> Option<&'static str> {
    const FLAW: &str = "takes what a client writes behind `Upgrade: tcp` or `SPDY/3.1` for requests to pods, past every policy (CVE-2026-73548)";
    let mut numbers = version.split(['.', '-']).map(|number| number.parse().ok());
    let (major, minor, patch): (u32, u32, u32) =
        (numbers.next()??, numbers.next()??, numbers.next()??);
    let fixed = FIXED.iter().find(|(known, _)| *known == minor);
    let is_flawed = match fixed {
        Some((_, first)) => patch < *first,
        None => minor < FIXED[0].0,
    };
    (major < 1 || major == 1 && is_flawed).then_some(FLAW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_flawed_until_one_of_their_minor_version_is_fixed() {
        for flawed in ["1.39.0", "1.38.3", "1.37.5", "1.36.9", "1.9.1", "0.1.0"] {
            assert!(flaw_of_envoy(flawed).is_some(), "{flawed}");
        }
        let tested = format!("{TESTED_ENVOY}.0");
        for fixed in ["1.39.1", "1.38.4", "1.37.6", &tested, "1.41.2", "2.0.0"] {
            assert_eq!(flaw_of_envoy(fixed), None, "{fixed}");
        }
        for unknown in ["", "1", "1.40", "nginx/1.22.1", "1.x.0"] {
            assert_eq!(flaw_of_envoy(unknown), None, "{unknown}");
        }
    }
}
