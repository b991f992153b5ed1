//! Files of host tables, which workers of nginx read by themselves.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;

use super::FormerFiles;
use crate::content_hash::content_hash;
use crate::private_file;

/// The directory of these files. Workers of different configurations read different ones.
#[derive(Debug)]
pub(super) struct TableFiles {
    directory: PathBuf,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// Hashes of contents, by name.
    written: BTreeMap<String, u128>,
    /// The last two that were written: nginx may get the one while the other is on its way.
    recent: [Option<String>; 2],
    /// Those of the configuration that nginx has loaded, and of the one that it is about to load.
    loaded: [Option<String>; 2],
}

impl TableFiles {
    /// Starts with an empty directory, unless a running nginx reads it.
    pub(super) fn new(directory: PathBuf, former: FormerFiles) -> anyhow::Result<Self> {
        if former == FormerFiles::Unused {
            fs::remove_dir_all(&directory).ok();
        }
        fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
        Ok(TableFiles {
            directory,
            held: Mutex::default(),
        })
    }

    /// Writes a table, unless it is there already, and returns the hash of its content.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<u128> {
        let content = content_hash(text);
        let mut held = self.held();
        if held.written.get(name) != Some(&content) {
            private_file::replace(&self.directory, name, text)
                .with_context(|| self.directory.join(name).display().to_string())?;
            held.written.insert(name.to_owned(), content);
        }
        if held.recent[0].as_deref() != Some(name) {
            held.recent.rotate_right(1);
            held.recent[0] = Some(name.to_owned());
        }
        Ok(content)
    }

    /// Notes the table of the configuration that nginx is about to load.
    pub(super) fn note_next(&self, name: Option<&str>) {
        self.held().loaded[1] = name.map(str::to_owned);
    }

    /// Notes that nginx has loaded that configuration.
    pub(super) fn note_loaded(&self) {
        let mut held = self.held();
        held.loaded[0] = held.loaded[1].clone();
    }

    /// Removes the tables that only earlier configurations name.
    pub(super) fn remove_unused(&self) {
        let mut held = self.held();
        for name in private_file::names(&self.directory) {
            let mut used = held.recent.iter().chain(&held.loaded).flatten();
            if used.all(|used| *used != name) {
                // A failure is retried with the next configuration.
                fs::remove_file(self.directory.join(&name)).ok();
                held.written.remove(&name);
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_replaced_when_it_changes_and_removed_when_nobody_names_it() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().join("hosts");
        let tables = TableFiles::new(directory.clone(), FormerFiles::Unused).unwrap();
        let seen = |name: &str| fs::read_to_string(directory.join(name)).ok();
        let first = tables.write("a", "1").unwrap();
        assert_eq!(tables.write("a", "1").unwrap(), first);
        assert_ne!(tables.write("a", "2").unwrap(), first);
        tables.note_next(Some("a"));
        tables.note_loaded();
        for (name, text) in [("b", "3"), ("c", "4"), ("d", "5"), ("e", "6")] {
            tables.write(name, text).unwrap();
        }
        tables.note_next(Some("c"));
        tables.remove_unused();
        // What nginx has, what it is about to load, and what comes next; one that it refused is gone.
        let left = ["a", "b", "c", "d", "e"].map(|name| seen(name).is_some());
        assert_eq!(left, [true, false, true, true, true]);
        tables.note_loaded();
        tables.remove_unused();
        assert_eq!(seen("a"), None);
        tables.write("a", "2").unwrap();
        assert_eq!(seen("a").as_deref(), Some("2"));
    }
}
