//! The balancing algorithm of a backend: its name and its parameters.
//!
//! ```json
//! "ewma"
//! {"bounded_chash": {"key": [{"variable": "request_uri"}], "load_factor": 125}}
//! ```
//!
//! The schema does not list the algorithms. Each is one file of the filter's core, which refuses a document with an
//! unknown name, a parameter that is missing, or one that the algorithm does not have.

use std::fmt;
use std::num::NonZeroU16;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{HashKey, LoadFactor};

/// The largest subset of consistent hashing: a pick reads every member of one.
pub const LARGEST_SUBSET: u16 = 1024;

/// The balancing algorithm, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadBalance {
    /// Its name, for example `ewma`.
    pub algorithm: String,
    /// Its parameters; none for most algorithms.
    pub parameters: Parameters,
}

/// The parameters of algorithms. Each algorithm requires some of them and takes no others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The value to hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<HashKey>,
    /// Endpoints of a subset; more than [`LARGEST_SUBSET`] count as that many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<NonZeroU16>,
    /// The largest load of an endpoint, relative to the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_factor: Option<LoadFactor>,
}

impl LoadBalance {
    /// An algorithm without parameters.
    pub fn named(algorithm: impl Into<String>) -> Self {
        LoadBalance {
            algorithm: algorithm.into(),
            parameters: Parameters::default(),
        }
    }

    /// Each endpoint in turn.
    #[must_use]
    pub fn round_robin() -> Self {
        LoadBalance::named("round_robin")
    }

    /// Consistent hashing: the same key, the same endpoint.
    #[must_use]
    pub fn chash(key: HashKey) -> Self {
        LoadBalance {
            parameters: Parameters {
                key: Some(key),
                ..Parameters::default()
            },
            ..LoadBalance::named("chash")
        }
    }

    /// Consistent hashing to a subset of endpoints, random within it.
    #[must_use]
    pub fn chash_subset(key: HashKey, size: NonZeroU16) -> Self {
        LoadBalance {
            parameters: Parameters {
                key: Some(key),
                size: Some(size),
                ..Parameters::default()
            },
            ..LoadBalance::named("chash_subset")
        }
    }

    /// Consistent hashing with bounded loads: the surplus of an endpoint goes to the next one on the ring.
    #[must_use]
    pub fn bounded_chash(key: HashKey, load_factor: LoadFactor) -> Self {
        LoadBalance {
            parameters: Parameters {
                key: Some(key),
                load_factor: Some(load_factor),
                ..Parameters::default()
            },
            ..LoadBalance::named("bounded_chash")
        }
    }
}

impl Default for LoadBalance {
    fn default() -> Self {
        LoadBalance::round_robin()
    }
}

impl Serialize for LoadBalance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.parameters == Parameters::default() {
            serializer.serialize_str(&self.algorithm)
        } else {
            serializer.collect_map([(&self.algorithm, &self.parameters)])
        }
    }
}

impl<'de> Deserialize<'de> for LoadBalance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrMap)
    }
}

struct NameOrMap;

impl<'de> Visitor<'de> for NameOrMap {
    type Value = LoadBalance;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an algorithm, or a map from its name to its parameters")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<LoadBalance, E> {
        Ok(LoadBalance::named(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LoadBalance, A::Error> {
        let entry = map.next_entry()?;
        let (algorithm, parameters) = entry.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        match map.next_key::<String>()? {
            Some(_) => Err(A::Error::invalid_length(2, &self)),
            None => Ok(LoadBalance {
                algorithm,
                parameters,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<LoadBalance, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn an_algorithm_without_parameters_is_its_name() {
        assert_eq!(parse(r#""ewma""#).unwrap(), LoadBalance::named("ewma"));
        let json = serde_json::to_string(&LoadBalance::default()).unwrap();
        assert_eq!(json, r#""round_robin""#);
    }

    #[test]
    fn only_one_algorithm_with_known_parameters_is_accepted() {
        let key = r#"{"key":[{"literal":"a"}]}"#;
        let one = format!(r#"{{"chash":{key}}}"#);
        assert_eq!(serde_json::to_string(&parse(&one).unwrap()).unwrap(), one);
        let two = format!(r#"{{"chash":{key},"ewma":{{}}}}"#);
        for bad in [two.as_str(), "{}", "1", r#"{"chash":{"keys":[]}}"#] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
