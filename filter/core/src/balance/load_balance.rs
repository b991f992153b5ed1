//! The algorithm of a backend, parsed.

use std::fmt;

use sluice_filter_config as wire;

use super::{Algorithm, Needs};

/// The algorithm of a backend with the parameters that it needs, except the key, which is compiled apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadBalance {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its parameters.
    pub parameters: Parameters,
}

/// Parameters of algorithms. Those that an algorithm does not need are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Endpoints of a subset.
    pub size: u16,
    /// The largest load of an endpoint, in percent of the mean.
    pub load_factor: u16,
}

/// A name or parameters that no algorithm has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidLoadBalance {
    /// No algorithm has this name, or its beginning.
    UnknownAlgorithm(String),
    /// A parameter is missing.
    Missing(Algorithm, &'static str),
    /// The algorithm does not have this parameter.
    Unexpected(Algorithm, &'static str),
}

impl Algorithm {
    /// The algorithm of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Algorithm> {
        let mut all = Algorithm::ALL.iter().copied();
        all.find(|algorithm| algorithm.name() == name)
    }

    /// The names of all algorithms that have no parameters: the values of the annotation `load-balance`.
    pub const SELECTABLE: &[&str] = {
        const NAMES: [&str; count_selectable()] = selectable();
        &NAMES
    };
}

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler alone")]
const fn count_selectable() -> usize {
    let (mut n, mut count) = (0, 0);
    while n < Algorithm::ALL.len() {
        if Algorithm::ALL[n].needs().no_parameters() {
            count += 1;
        }
        n += 1;
    }
    count
}

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler alone")]
const fn selectable<const COUNT: usize>() -> [&'static str; COUNT] {
    let (mut n, mut count, mut names) = (0, 0, [""; COUNT]);
    while n < Algorithm::ALL.len() {
        if Algorithm::ALL[n].needs().no_parameters() {
            names[count] = Algorithm::ALL[n].name();
            count += 1;
        }
        n += 1;
    }
    names
}

impl TryFrom<&wire::LoadBalance> for LoadBalance {
    type Error = InvalidLoadBalance;

    fn try_from(wire: &wire::LoadBalance) -> Result<Self, InvalidLoadBalance> {
        let algorithm = Algorithm::parse(&wire.algorithm).ok_or_else(|| {
            InvalidLoadBalance::UnknownAlgorithm(wire.algorithm.chars().take(80).collect())
        })?;
        let wire::Parameters {
            key,
            size,
            load_factor,
        } = &wire.parameters;
        let Needs {
            key: needs_key,
            size: needs_size,
            load_factor: needs_load_factor,
            ..
        } = algorithm.needs();
        for (name, is_needed, is_present) in [
            ("key", needs_key, key.is_some()),
            ("size", needs_size, size.is_some()),
            ("load_factor", needs_load_factor, load_factor.is_some()),
        ] {
            match (is_needed, is_present) {
                (true, false) => return Err(InvalidLoadBalance::Missing(algorithm, name)),
                (false, true) => return Err(InvalidLoadBalance::Unexpected(algorithm, name)),
                _ => {}
            }
        }
        let parameters = Parameters {
            size: size.map_or(0, |size| size.get()),
            load_factor: load_factor.map_or(0, wire::LoadFactor::percent),
        };
        Ok(LoadBalance {
            algorithm,
            parameters,
        })
    }
}

impl fmt::Display for InvalidLoadBalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("load_balance: expected ")?;
        match self {
            InvalidLoadBalance::UnknownAlgorithm(name) => {
                let names: Vec<_> = Algorithm::ALL.iter().map(|all| all.name()).collect();
                write!(f, "one of {}, got {name:?}", names.join(", "))
            }
            InvalidLoadBalance::Missing(algorithm, parameter) => {
                write!(f, "`{parameter}` for {}, got none", algorithm.name())
            }
            InvalidLoadBalance::Unexpected(algorithm, parameter) => {
                write!(f, "no `{parameter}` for {}, got one", algorithm.name())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<LoadBalance, String> {
        let document = format!(
            r#"{{"schema":1,"tables":{{"snapshot":{{"version":"1-{:032x}","routes":{{}},"backends":{{
                "b":{{"name":"b","load_balance":{json},"attempts":1,"endpoints":[]}}}}}}}}}}"#,
            1
        );
        let config = wire::PluginConfig::parse(document.as_bytes()).unwrap();
        let Some(wire::Tables::Snapshot(snapshot)) = config.tables else {
            unreachable!()
        };
        LoadBalance::try_from(&snapshot.backends["b"].load_balance).map_err(|e| e.to_string())
    }

    #[test]
    fn every_name_has_one_algorithm() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::parse(algorithm.name()), Some(*algorithm));
        }
        assert_eq!(
            Algorithm::SELECTABLE,
            ["round_robin", "ewma", "least_conn", "peak_ewma"]
        );
    }

    #[test]
    fn the_constructors_of_the_schema_are_valid() {
        let key = || wire::HashKey::parse("$request_uri").0;
        for wire in [
            wire::LoadBalance::default(),
            wire::LoadBalance::chash(key()),
            wire::LoadBalance::chash_subset(key(), 3.try_into().unwrap()),
            wire::LoadBalance::bounded_chash(key(), 125.try_into().unwrap()),
        ] {
            let parsed = LoadBalance::try_from(&wire).unwrap();
            assert_eq!(parsed.algorithm.name(), wire.algorithm);
        }
    }

    #[test]
    fn unknown_names_and_wrong_parameters_are_refused_by_name() {
        let key = r#""key":[{"variable":"request_uri"}]"#;
        for (bad, expected) in [
            (
                r#""fastest""#.to_owned(),
                "load_balance: expected one of round_robin, chash, chash_subset, bounded_chash, ewma, least_conn, \
                 peak_ewma, got \"fastest\"",
            ),
            (
                r#""chash""#.to_owned(),
                "load_balance: expected `key` for chash, got none",
            ),
            (
                format!(r#"{{"chash_subset":{{{key}}}}}"#),
                "load_balance: expected `size` for chash_subset, got none",
            ),
            (
                format!(r#"{{"ewma":{{{key}}}}}"#),
                "load_balance: expected no `key` for ewma, got one",
            ),
        ] {
            assert_eq!(parse(&bad), Err(expected.to_owned()));
        }
    }
}
