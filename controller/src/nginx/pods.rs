//! The files from which nginx reads the pods of ports without HTTP.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;

use super::Left;
use crate::private;

/// The folder.
#[derive(Debug)]
pub(crate) struct PodFiles {
    folder: PathBuf,
    latest: Mutex<BTreeMap<String, String>>,
}

impl PodFiles {
    /// An empty folder, unless an nginx reads what is there.
    pub(crate) fn new(folder: PathBuf, left: Left) -> anyhow::Result<Self> {
        if left == Left::Unused {
            fs::remove_dir_all(&folder).ok();
        }
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let names = names(&folder).map(|name| (name, String::new()));
        Ok(PodFiles {
            latest: Mutex::new(names.collect()),
            folder,
        })
    }

    /// Writes what is new or different: connections see it from now on. What is named no more goes with the next files that
    /// are named, because nginx may still read it.
    pub(crate) fn publish(&self, files: BTreeMap<String, String>) -> anyhow::Result<()> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, text) in &files {
            if latest.get(name) != Some(text) {
                write(&self.folder, name, text)?;
            }
        }
        if !latest.keys().eq(files.keys()) {
            for name in names(&self.folder) {
                if !latest.contains_key(&name) && !files.contains_key(&name) {
                    // It will be tried again.
                    fs::remove_file(self.folder.join(&name)).ok();
                }
            }
        }
        *latest = files;
        Ok(())
    }
}

fn names(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Never half.
fn write(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let staged = folder.join(format!(".{name}"));
    private::write(&staged, text).with_context(|| staged.display().to_string())?;
    fs::rename(&staged, folder.join(name)).with_context(|| staged.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stays_until_names_have_changed_twice() {
        let temporary = tempfile::tempdir().unwrap();
        let pods = PodFiles::new(temporary.path().join("pods"), Left::Unused).unwrap();
        let publish = |names: &[&str]| {
            let files = names
                .iter()
                .map(|name| ((*name).to_owned(), "10.0.0.1:1 1".to_owned()));
            pods.publish(files.collect()).unwrap();
            fs::read_dir(temporary.path().join("pods")).unwrap().count()
        };
        assert_eq!(
            [publish(&["a"]), publish(&["b"]), publish(&["b"])],
            [1, 2, 2]
        );
        assert_eq!(publish(&["b", "c"]), 2);
    }
}
