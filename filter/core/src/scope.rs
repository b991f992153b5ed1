//! Route scope of a request whose host, as written, names none.

use sluice_filter_config::host_contract::OTHER_HOSTS;

use crate::Tables;

/// A host as a client asked for it: `:authority`, with or without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    name: String,
    is_lower: bool,
}

impl Asked {
    /// Reads it; what is no name, an IPv6 address say, has no scope.
    #[must_use]
    pub fn parse(authority: &[u8]) -> Self {
        let authority = String::from_utf8_lossy(authority);
        let name = authority.split(':').next().unwrap_or_default();
        Asked {
            name: name.to_ascii_lowercase(),
            is_lower: !name.bytes().any(|byte| byte.is_ascii_uppercase()),
        }
    }

    /// True if the tables must be searched: the data plane has searched names in lower case itself.
    #[must_use]
    pub fn needs_tables(&self) -> bool {
        !self.is_lower
    }

    /// The scope that has its routes.
    #[must_use]
    pub fn scope(&self, tables: &Tables) -> &str {
        if self.needs_tables() && tables.is_host(&self.name) {
            &self.name
        } else {
            OTHER_HOSTS
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_filter_config::{Snapshot, Tables as Update, Version};

    use super::*;
    use crate::Timestamp;
    use crate::testing::ZeroRng;

    fn scope(authority: &str) -> String {
        let mut tables = Tables::default();
        let snapshot = Snapshot {
            version: Version::new(1, 1),
            routes: [].into(),
            backends: [].into(),
            hosts: ["a.test".to_owned()].into(),
        };
        tables
            .apply(
                Update::Snapshot(snapshot),
                Timestamp::from_nanos(1),
                &mut ZeroRng,
            )
            .unwrap();
        Asked::parse(authority.as_bytes()).scope(&tables).to_owned()
    }

    #[test]
    fn capital_letters_make_no_difference() {
        for asked in ["A.test", "a.TEST", "A.TEST:8080"] {
            assert_eq!(scope(asked), "a.test");
        }
    }

    #[test]
    fn what_nobody_names_is_of_the_others() {
        for asked in [
            "B.test",
            "b.test",
            "b.test:80",
            "[::1]:80",
            "[FE80::1]",
            "",
            "_",
            ":",
        ] {
            assert_eq!(scope(asked), OTHER_HOSTS);
        }
    }

    #[test]
    fn what_the_data_plane_did_not_find_is_not_looked_for_again() {
        assert_eq!(scope("a.test"), OTHER_HOSTS);
    }
}
