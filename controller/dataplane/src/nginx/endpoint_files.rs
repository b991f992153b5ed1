//! Files with the endpoints of TCP and UDP ports, which nginx reads by itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use super::FormerFiles;
use crate::private_file;

/// The directory of these files.
#[derive(Debug)]
pub(super) struct EndpointFiles {
    directory: PathBuf,
    latest: Mutex<BTreeMap<String, String>>,
}

impl EndpointFiles {
    /// Starts with an empty directory, unless a running nginx reads it.
    pub(super) fn new(directory: PathBuf, former: FormerFiles) -> anyhow::Result<Self> {
        if former == FormerFiles::Unused {
            fs::remove_dir_all(&directory).ok();
        }
        fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
        let names = private_file::names(&directory).map(|name| (name, String::new()));
        Ok(EndpointFiles {
            latest: Mutex::new(names.collect()),
            directory,
        })
    }

    /// Writes new and changed files, which apply to new connections at once. A file that is no longer named is removed when the
    /// names change again, because nginx may still read it.
    pub(super) fn publish(&self, files: BTreeMap<String, String>) -> anyhow::Result<()> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, text) in &files {
            if latest.get(name) != Some(text) {
                private_file::replace(&self.directory, name, text)
                    .with_context(|| self.directory.join(name).display().to_string())?;
            }
        }
        if !latest.keys().eq(files.keys()) {
            for name in private_file::names(&self.directory) {
                if !latest.contains_key(&name) && !files.contains_key(&name) {
                    // A failure is retried with the next change.
                    fs::remove_file(self.directory.join(&name)).ok();
                }
            }
        }
        *latest = files;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_removed_after_names_changed_twice() {
        let temporary = tempfile::tempdir().unwrap();
        let endpoint_files =
            EndpointFiles::new(temporary.path().join("pods"), FormerFiles::Unused).unwrap();
        let publish = |names: &[&str]| {
            let files = names
                .iter()
                .map(|name| ((*name).to_owned(), "10.0.0.1:1 1".to_owned()));
            endpoint_files.publish(files.collect()).unwrap();
            fs::read_dir(temporary.path().join("pods")).unwrap().count()
        };
        assert_eq!(
            [publish(&["a"]), publish(&["b"]), publish(&["b"])],
            [1, 2, 2]
        );
        assert_eq!(publish(&["b", "c"]), 2);
    }
}
