//! Files of host tables, which workers of nginx read by themselves.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use sluice_nginx::HostsFile;

use super::FormerFiles;
use crate::content_hash::content_hash;
use crate::private_file;

/// The directory of these files. Workers of different configurations read different ones.
#[derive(Debug)]
pub(super) struct HostTables {
    directory: PathBuf,
    /// Hashes of contents, by name.
    written: Mutex<BTreeMap<String, u128>>,
}

impl HostTables {
    /// Starts with an empty directory, unless a running nginx reads it.
    pub(super) fn new(directory: PathBuf, former: FormerFiles) -> anyhow::Result<Self> {
        if former == FormerFiles::Unused {
            fs::remove_dir_all(&directory).ok();
        }
        fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
        Ok(HostTables {
            directory,
            written: Mutex::default(),
        })
    }

    /// Writes a table, unless it is there already, and returns the hash of its content.
    pub(super) fn write(&self, table: &HostsFile) -> anyhow::Result<u128> {
        let content = content_hash(&table.text);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.get(&table.name) != Some(&content) {
            private_file::replace(&self.directory, &table.name, &table.text)
                .with_context(|| self.directory.join(&table.name).display().to_string())?;
            written.insert(table.name.clone(), content);
        }
        Ok(content)
    }

    /// Removes the tables that none of these configurations names.
    pub(super) fn retain(&self, named: &[Option<String>]) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for name in private_file::names(&self.directory) {
            if !named.iter().flatten().any(|it| *it == name) {
                // A failure is retried with the next configuration.
                fs::remove_file(self.directory.join(&name)).ok();
                written.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn table(name: &str, text: &str) -> HostsFile {
        HostsFile {
            name: name.to_owned(),
            text: text.to_owned(),
            profiles: BTreeSet::new(),
            beside_profiles: String::new(),
        }
    }

    #[test]
    fn table_is_replaced_when_it_changes_and_removed_when_nobody_names_it() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().join("hosts");
        let tables = HostTables::new(directory.clone(), FormerFiles::Unused).unwrap();
        let seen = |name: &str| fs::read_to_string(directory.join(name)).ok();
        let first = tables.write(&table("a", "1")).unwrap();
        assert_eq!(tables.write(&table("a", "1")).unwrap(), first);
        assert_ne!(tables.write(&table("a", "2")).unwrap(), first);
        tables.write(&table("b", "3")).unwrap();
        assert_eq!(seen("a").as_deref(), Some("2"));
        tables.retain(&[Some("b".to_owned()), None]);
        assert_eq!((seen("a"), seen("b").as_deref()), (None, Some("3")));
        tables.write(&table("a", "2")).unwrap();
        assert_eq!(seen("a").as_deref(), Some("2"));
    }
}
