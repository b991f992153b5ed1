//! The certificates and keys that nginx reads. New files are written before nginx is reloaded, and old ones removed after no
//! worker uses them. nginx.conf does not name the certificates of hosts: it names links to them, which change without a reload.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use sluice_ir::{Changed, changed};
use sluice_nginx::Files;
use sluice_xds::Certificate;

use super::FormerFiles;
use super::cert_targets::Links;
use crate::private_file;

/// The certificate of hosts that have none of their own.
const DEFAULT: &str = "default.pem";

/// The directory of these files. A handle, cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Certificates {
    directory: PathBuf,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    latest: Files,
    /// Also those of former configurations that nginx may still use.
    links: Links,
    /// Links that the latest configuration does not have.
    gone: BTreeSet<String>,
    /// Files that links point to, or have pointed to.
    presented: BTreeSet<String>,
}

impl Certificates {
    /// Starts with the default certificate only, unless a running nginx reads the directory.
    pub(super) fn new(
        directory: PathBuf,
        certificate: &Certificate,
        former: FormerFiles,
    ) -> anyhow::Result<Self> {
        if former == FormerFiles::Unused {
            fs::remove_dir_all(&directory).ok();
        }
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .with_context(|| directory.display().to_string())?;
        write(
            &directory,
            DEFAULT,
            &format!("{}\n{}", certificate.chain.trim_end(), certificate.key),
        )?;
        Ok(Certificates {
            held: Arc::new(Mutex::new(Held::in_directory(&directory))),
            directory,
        })
    }

    /// Writes new and changed files, which apply to new handshakes at once. What is as in the latest configuration is not looked at.
    pub(super) fn publish(&self, files: Files) -> anyhow::Result<()> {
        let mut held = self.held();
        let Held {
            latest,
            links,
            gone,
            presented,
        } = &mut *held;
        for Changed { name, now, .. } in changed(&latest.pinned, &files.pinned) {
            if let Some(text) = now {
                write(&self.directory, name, text.reveal())?;
            }
        }
        for Changed { name, now, .. } in changed(&latest.presented, &files.presented) {
            if let Some(text) = now {
                presented.insert(name.clone());
                write(&self.directory, name, text.reveal())?;
            }
        }
        for Changed { name, now, .. } in changed(&latest.cert_links, &files.cert_links) {
            let Some(target) = now else {
                gone.insert(name.clone());
                continue;
            };
            gone.remove(name);
            if links.target(name) != Some(target) {
                link(&self.directory, name, target)?;
                links.set(name, Some(target));
            }
        }
        *latest = files;
        self.remove_unlinked(&mut held);
        Ok(())
    }

    /// Writes files that a configuration names which is only tested. They are removed with those of former configurations.
    pub(super) fn add_pinned(&self, files: &Files) -> anyhow::Result<()> {
        let held = self.held();
        // The name of such a file has its content in it.
        let is_new = |name: &&String| {
            !held.latest.pinned.contains_key(*name) && !self.directory.join(name).exists()
        };
        let new = files.pinned.iter().filter(|(name, _)| is_new(name));
        for (name, text) in new {
            write(&self.directory, name, text.reveal())?;
        }
        Ok(())
    }

    /// Removes files that neither the latest configuration nor the one that nginx has loaded names.
    pub(super) fn retain_named(&self, is_named: impl Fn(&str) -> bool) {
        let mut held = self.held();
        let unnamed = held.gone.iter().filter(|name| !is_named(name));
        for name in unnamed.cloned().collect::<Vec<_>>() {
            held.gone.remove(&name);
            held.links.set(&name, None);
        }
        for name in self.names() {
            let Held {
                latest,
                links,
                presented,
                ..
            } = &*held;
            let is_used = latest.pinned.contains_key(&name)
                || links.target(&name).is_some()
                || presented.contains(&name)
                || is_named(&name);
            if name != DEFAULT && !is_used {
                // A failure is retried with the next configuration.
                fs::remove_file(self.directory.join(&name)).ok();
            }
        }
        self.remove_unlinked(&mut held);
    }

    /// Removes the links that the latest configuration does not have, where nginx.conf names none of them.
    pub(super) fn remove_gone_links(&self) {
        let mut held = self.held();
        for name in std::mem::take(&mut held.gone) {
            match fs::remove_file(self.directory.join(&name)) {
                Ok(()) => held.links.set(&name, None),
                // Retried with the next configuration.
                Err(_) => drop(held.gone.insert(name)),
            }
        }
        self.remove_unlinked(&mut held);
    }

    /// Removes keys that no link points to any more.
    fn remove_unlinked(&self, held: &mut Held) {
        for name in held.links.take_unused() {
            // The default certificate is nobody's.
            let is_ours = held.presented.contains(&name);
            if is_ours && fs::remove_file(self.directory.join(&name)).is_err() {
                // Retried with the next change.
                held.links.add_unused(name);
            } else {
                held.presented.remove(&name);
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> Vec<String> {
        private_file::names(&self.directory).collect()
    }
}

impl Held {
    /// Reads the links of an earlier controller. Other files stay until nginx no longer names them.
    fn in_directory(directory: &Path) -> Self {
        let target = |name: &String| {
            fs::read_link(directory.join(name))
                .ok()?
                .into_os_string()
                .into_string()
                .ok()
        };
        let mut held = Held::default();
        for name in private_file::names(directory) {
            let Some(target) = target(&name) else {
                continue;
            };
            held.links.set(&name, Some(&target));
            if target != DEFAULT {
                held.presented.insert(target);
            }
            // Until the first configuration says otherwise.
            held.gone.insert(name);
        }
        held
    }
}

/// Writes a private file atomically.
fn write(directory: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    private_file::replace(directory, name, text)
        .with_context(|| directory.join(name).display().to_string())
}

/// Points a link to a target atomically.
fn link(directory: &Path, name: &str, target: &str) -> anyhow::Result<()> {
    let staged = directory.join(format!(".{name}"));
    let describe = || staged.display().to_string();
    fs::remove_file(&staged).ok();
    symlink(target, &staged).with_context(describe)?;
    fs::rename(&staged, directory.join(name)).with_context(describe)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use sluice_ir::Sensitive;

    use super::*;

    /// Files that nginx.conf names, files that links point to, and links with their targets.
    fn files(pinned: &[&str], presented: &[(&str, &str)], links: &[(&str, &str)]) -> Files {
        let secret = |text: &str| Arc::new(Sensitive::new(text.to_owned()));
        Files {
            pinned: pinned
                .iter()
                .map(|name| ((*name).to_owned(), secret("P")))
                .collect(),
            presented: presented
                .iter()
                .map(|(name, text)| ((*name).to_owned(), secret(text)))
                .collect(),
            cert_links: links
                .iter()
                .map(|(name, to)| ((*name).to_owned(), (*to).to_owned()))
                .collect(),
        }
    }

    fn empty(temporary: &Path) -> Certificates {
        open(temporary, FormerFiles::Unused)
    }

    fn open(temporary: &Path, former: FormerFiles) -> Certificates {
        let certificate = Certificate {
            chain: "C".to_owned(),
            key: "K".to_owned(),
        };
        Certificates::new(temporary.join("certificates"), &certificate, former).unwrap()
    }

    fn names(certificates: &Certificates) -> BTreeSet<String> {
        certificates.names().into_iter().collect()
    }

    fn named(names: &'static [&'static str]) -> impl Fn(&str) -> bool {
        |name| names.contains(&name)
    }

    fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
        names.map(str::to_owned).into()
    }

    #[test]
    fn files_are_private_and_stay_while_a_configuration_names_them() {
        let temporary = tempfile::tempdir().unwrap();
        let certificates = empty(temporary.path());
        certificates
            .publish(files(&["a.pem", "b.pem"], &[], &[]))
            .unwrap();
        certificates.publish(files(&["b.pem"], &[], &[])).unwrap();
        certificates.retain_named(named(&["a.pem"]));
        assert_eq!(names(&certificates), set(["a.pem", "b.pem", "default.pem"]));
        certificates.retain_named(|_| false);
        assert_eq!(names(&certificates), set(["b.pem", "default.pem"]));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let directory = &certificates.directory;
        assert_eq!(
            (mode(directory), mode(&directory.join("b.pem"))),
            (0o700, 0o600)
        );
    }

    #[test]
    fn link_changes_at_once_and_unlinked_keys_are_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let certificates = empty(temporary.path());
        let seen = || fs::read_to_string(certificates.directory.join("host.pem")).unwrap();
        certificates
            .publish(files(&[], &[], &[("host.pem", "default.pem")]))
            .unwrap();
        assert_eq!(seen(), "C\nK");
        let own = |text| files(&[], &[("own.pem", text)], &[("host.pem", "own.pem")]);
        certificates.publish(own("1")).unwrap();
        certificates.publish(own("2")).unwrap();
        assert_eq!(seen(), "2");
        certificates
            .publish(files(&[], &[], &[("host.pem", "default.pem")]))
            .unwrap();
        assert_eq!(seen(), "C\nK");
        assert_eq!(names(&certificates), set(["default.pem", "host.pem"]));
    }

    #[test]
    fn files_of_an_adopted_nginx_stay_until_it_is_reloaded() {
        let temporary = tempfile::tempdir().unwrap();
        let former = empty(temporary.path());
        let links = [
            ("a.pem", "own.pem"),
            ("b.pem", "own.pem"),
            ("c.pem", "default.pem"),
        ];
        former
            .publish(files(
                &["pinned.pem", "gone.pem"],
                &[("own.pem", "1")],
                &links,
            ))
            .unwrap();
        let before = names(&former);

        let next = open(temporary.path(), FormerFiles::InUse);
        assert_eq!(names(&next), before);
        next.publish(files(
            &["pinned.pem"],
            &[("new.pem", "2")],
            &[("a.pem", "new.pem")],
        ))
        .unwrap();
        let seen = |name| fs::read_to_string(next.directory.join(name)).unwrap();
        assert_eq!(
            (
                seen("a.pem").as_str(),
                seen("b.pem").as_str(),
                seen("c.pem").as_str()
            ),
            ("2", "1", "C\nK")
        );
        next.retain_named(named(&["pinned.pem", "a.pem"]));
        assert_eq!(
            names(&next),
            set(["default.pem", "pinned.pem", "a.pem", "new.pem"])
        );
        assert_eq!(
            names(&empty(temporary.path())),
            set(["default.pem"]),
            "no nginx reads it"
        );
    }

    #[test]
    fn link_that_nginx_still_names_keeps_its_target() {
        let temporary = tempfile::tempdir().unwrap();
        let certificates = empty(temporary.path());
        certificates
            .publish(files(&[], &[("own.pem", "1")], &[("host.pem", "own.pem")]))
            .unwrap();
        certificates.publish(Files::default()).unwrap();
        assert_eq!(
            names(&certificates),
            set(["default.pem", "host.pem", "own.pem"])
        );
        certificates.retain_named(named(&["host.pem"]));
        assert_eq!(
            names(&certificates),
            set(["default.pem", "host.pem", "own.pem"])
        );
        certificates.retain_named(|_| false);
        assert_eq!(names(&certificates), set(["default.pem"]));
    }
}
