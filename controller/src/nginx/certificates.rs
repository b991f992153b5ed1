//! The folder of certificates and keys that nginx reads: what is new is there before nginx hears of it, what is gone goes
//! when nginx has forgotten it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use sluice_ir::Sensitive;
use sluice_xds::Certificate;

/// What a host presents that has no certificate of its own.
const DEFAULT: &str = "default.pem";

/// The files.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    folder: PathBuf,
    latest: Arc<Mutex<BTreeMap<String, Sensitive>>>,
}

impl Certificates {
    /// An empty folder, but for the certificate of last resort.
    pub(crate) fn new(folder: PathBuf, certificate: &Certificate) -> anyhow::Result<Self> {
        // What a former run left behind is nobody's any more.
        fs::remove_dir_all(&folder).ok();
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&folder).with_context(|| folder.display().to_string())?;
        write(&folder, DEFAULT, &format!("{}\n{}", certificate.chain.trim_end(), certificate.key))?;
        Ok(Certificates { folder, latest: Arc::default() })
    }

    /// Writes what is new or different. Handshakes see it from now on.
    pub(crate) fn publish(&self, files: BTreeMap<String, Sensitive>) -> anyhow::Result<()> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, text) in &files {
            if latest.get(name) != Some(text) {
                write(&self.folder, name, text.reveal())?;
            }
        }
        *latest = files;
        Ok(())
    }

    /// nginx has a new configuration: what this one does not name, and the latest one neither, can go.
    pub(crate) fn forget_all_but(&self, named: &BTreeSet<String>) {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for name in entries.filter_map(|entry| entry.file_name().into_string().ok()) {
            if name != DEFAULT && !latest.contains_key(&name) && !named.contains(&name) {
                // It will be tried again with the next configuration.
                fs::remove_file(self.folder.join(&name)).ok();
            }
        }
    }
}

/// For nobody else's eyes, and never half.
fn write(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let staged = folder.join(format!(".{name}"));
    let describe = || staged.display().to_string();
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&staged).with_context(describe)?;
    file.write_all(text.as_bytes()).with_context(describe)?;
    fs::rename(&staged, folder.join(name)).with_context(describe)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn files(of: &[(&str, &str)]) -> BTreeMap<String, Sensitive> {
        of.iter().map(|(name, text)| ((*name).to_owned(), Sensitive::new((*text).to_owned()))).collect()
    }

    fn names(folder: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn files_are_private_and_stay_while_a_configuration_names_them() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("certificates");
        let certificate = Certificate { chain: "C".to_owned(), key: "K".to_owned() };
        let certificates = Certificates::new(folder.clone(), &certificate).unwrap();
        certificates.publish(files(&[("a.pem", "1"), ("b.pem", "1")])).unwrap();
        certificates.publish(files(&[("b.pem", "2")])).unwrap();
        assert_eq!(fs::read_to_string(folder.join("b.pem")).unwrap(), "2");
        certificates.forget_all_but(&["a.pem".to_owned()].into());
        assert_eq!(names(&folder), ["a.pem", "b.pem", "default.pem"].map(str::to_owned).into());
        certificates.forget_all_but(&BTreeSet::new());
        assert_eq!(names(&folder), ["b.pem", "default.pem"].map(str::to_owned).into());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("b.pem"))), (0o700, 0o600));
    }
}
