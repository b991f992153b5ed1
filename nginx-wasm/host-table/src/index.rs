//! The file that is replaced with each change of a table.

use serde::{Deserialize, Serialize};

use crate::{InvalidTable, SHARDS};

/// The schema that this crate reads and writes. A table with another number is refused.
const SCHEMA: u32 = 2;

/// The shards of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    schema: u32,
    /// The table that it is of. Workers of an nginx.conf with other profiles have another one.
    table: String,
    /// Files, by the number of the shard.
    shards: Vec<String>,
}

impl Index {
    /// The index of a table with these shards, in the order of their numbers.
    #[must_use]
    pub fn new(table: &str, shards: impl IntoIterator<Item = String>) -> Self {
        Index {
            schema: SCHEMA,
            table: table.to_owned(),
            shards: shards.into_iter().collect(),
        }
    }

    /// The name of its file.
    #[must_use]
    pub fn file_name(table: &str) -> String {
        format!("{table}.json")
    }

    /// Names of the files of all shards, in the order of their numbers.
    #[must_use]
    pub fn shards(&self) -> &[String] {
        &self.shards
    }

    /// The text of its file; the same for the same table.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Only strings and numbers: there is nothing in it that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the file of a table.
    ///
    /// # Errors
    ///
    /// It is no index of this schema, or that of another table.
    pub fn parse(text: &[u8], table: &str) -> Result<Self, InvalidTable> {
        let index: Index =
            serde_json::from_slice(text).map_err(|error| InvalidTable(error.to_string()))?;
        let expected = |what, expected: &str, got: &str| {
            Err(InvalidTable(format!(
                "{what}: expected {expected}, got {got}"
            )))
        };
        if index.schema != SCHEMA {
            return expected("schema", &SCHEMA.to_string(), &index.schema.to_string());
        }
        if index.table != table {
            return expected("table", table, &index.table);
        }
        if index.shards.len() != SHARDS {
            let got = index.shards.len().to_string();
            return expected("shards", &SHARDS.to_string(), &got);
        }
        // A name is a hash, so it leads to no other directory.
        let is_hash = |name: &String| name.bytes().all(|byte| byte.is_ascii_hexdigit());
        match index.shards.iter().find(|name| !is_hash(name)) {
            Some(name) => expected("shards", "hashes", name),
            None => Ok(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_survives_the_wire_and_what_is_not_known_is_refused_by_name() {
        let shards = (0..SHARDS).map(|n| format!("{n:032x}"));
        let index = Index::new("ab", shards);
        let text = index.to_json();
        assert_eq!(Index::parse(text.as_bytes(), "ab"), Ok(index));
        for (good, bad, said) in [
            ("\"schema\":2", "\"schema\":1", "expected 2, got 1"),
            ("\"table\"", "\"tables\"", "tables"),
            ("\"ab\"", "\"cd\"", "expected ab, got cd"),
            ("\"00", "\"../", "expected hashes, got ../"),
            (&format!("\"{:032x}\",", 0), "", "expected 256, got 255"),
            ("]}", "", "EOF"),
        ] {
            let error = Index::parse(text.replacen(good, bad, 1).as_bytes(), "ab");
            let error = error.unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
