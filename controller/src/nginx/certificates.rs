//! The folder of certificates and keys that nginx reads: what is new is there before nginx hears of it, what is gone goes
//! when nginx has forgotten it. What hosts present is not in nginx's configuration, and goes at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use sluice_nginx::Files;
use sluice_xds::Certificate;

use super::Left;
use crate::private;

/// What a host presents that has no certificate of its own.
const DEFAULT: &str = "default.pem";

/// The files.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    folder: PathBuf,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    latest: Files,
    /// Also the places of former configurations, until nginx has forgotten those.
    places: BTreeMap<String, String>,
    /// What places lead to, or have led to.
    presented: BTreeSet<String>,
}

impl Certificates {
    /// A folder that is empty, but for the certificate of last resort, unless an nginx reads what is there.
    pub(crate) fn new(
        folder: PathBuf,
        certificate: &Certificate,
        left: Left,
    ) -> anyhow::Result<Self> {
        if left == Left::Unused {
            fs::remove_dir_all(&folder).ok();
        }
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .with_context(|| folder.display().to_string())?;
        write(
            &folder,
            DEFAULT,
            &format!("{}\n{}", certificate.chain.trim_end(), certificate.key),
        )?;
        Ok(Certificates {
            held: Arc::new(Mutex::new(Held::in_folder(&folder))),
            folder,
        })
    }

    /// Writes what is new or different. Handshakes see it from now on.
    pub(crate) fn publish(&self, files: Files) -> anyhow::Result<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Held {
            latest,
            places,
            presented,
        } = &mut *held;
        presented.extend(files.presented.keys().cloned());
        for (now, before) in [
            (&files.pinned, &latest.pinned),
            (&files.presented, &latest.presented),
        ] {
            for (name, text) in now
                .iter()
                .filter(|(name, text)| before.get(*name) != Some(text))
            {
                write(&self.folder, name, text.reveal())?;
            }
        }
        for (name, target) in &files.cert_links {
            if places.get(name) != Some(target) {
                lead(&self.folder, name, target)?;
                places.insert(name.clone(), target.clone());
            }
        }
        *latest = files;
        self.forget_unpresented(&mut held);
        Ok(())
    }

    /// nginx has a new configuration: what this one does not name, and the latest one neither, can go.
    pub(crate) fn forget_all_but(&self, named: &BTreeSet<String>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Held {
            latest,
            places,
            presented,
        } = &mut *held;
        places.retain(|name, _| latest.cert_links.contains_key(name) || named.contains(name));
        for name in self.names() {
            let is_named = latest.pinned.contains_key(&name) || named.contains(&name);
            if name != DEFAULT
                && !is_named
                && !places.contains_key(&name)
                && !presented.contains(&name)
            {
                // It will be tried again with the next configuration.
                fs::remove_file(self.folder.join(&name)).ok();
            }
        }
        self.forget_unpresented(&mut held);
    }

    /// A key that nothing leads to any more is not left lying about.
    fn forget_unpresented(&self, held: &mut Held) {
        let led_to: BTreeSet<&String> = held.places.values().collect();
        held.presented.retain(|name| {
            // What cannot be removed is tried again.
            led_to.contains(name) || fs::remove_file(self.folder.join(name)).is_err()
        });
    }

    fn names(&self) -> Vec<String> {
        names(&self.folder)
    }
}

impl Held {
    /// What places lead to is known from themselves. Whatever else is there goes when nginx does not name it.
    fn in_folder(folder: &Path) -> Self {
        let target = |name: &String| {
            fs::read_link(folder.join(name))
                .ok()?
                .into_os_string()
                .into_string()
                .ok()
        };
        let places: BTreeMap<String, String> = names(folder)
            .into_iter()
            .filter_map(|name| Some((target(&name)?, name)))
            .map(|(to, name)| (name, to))
            .collect();
        let presented = places
            .values()
            .filter(|name| *name != DEFAULT)
            .cloned()
            .collect();
        Held {
            latest: Files::default(),
            places,
            presented,
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// For nobody else's eyes, and never half.
fn write(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let staged = folder.join(format!(".{name}"));
    let describe = || staged.display().to_string();
    private::write(&staged, text).with_context(describe)?;
    fs::rename(&staged, folder.join(name)).with_context(describe)
}

/// What is read there from now on, without a moment in which there is nothing.
fn lead(folder: &Path, name: &str, target: &str) -> anyhow::Result<()> {
    let staged = folder.join(format!(".{name}"));
    let describe = || staged.display().to_string();
    fs::remove_file(&staged).ok();
    symlink(target, &staged).with_context(describe)?;
    fs::rename(&staged, folder.join(name)).with_context(describe)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use sluice_ir::Sensitive;

    use super::*;

    /// Files that nginx.conf names, files that are presented, and places with where they lead.
    fn files(pinned: &[&str], presented: &[(&str, &str)], places: &[(&str, &str)]) -> Files {
        let secret = |text: &str| Sensitive::new(text.to_owned());
        Files {
            pinned: pinned
                .iter()
                .map(|name| ((*name).to_owned(), secret("P")))
                .collect(),
            presented: presented
                .iter()
                .map(|(name, text)| ((*name).to_owned(), secret(text)))
                .collect(),
            cert_links: places
                .iter()
                .map(|(name, to)| ((*name).to_owned(), (*to).to_owned()))
                .collect(),
        }
    }

    fn empty(temporary: &Path) -> Certificates {
        begin(temporary, Left::Unused)
    }

    fn begin(temporary: &Path, left: Left) -> Certificates {
        let certificate = Certificate {
            chain: "C".to_owned(),
            key: "K".to_owned(),
        };
        Certificates::new(temporary.join("certificates"), &certificate, left).unwrap()
    }

    fn names(certificates: &Certificates) -> BTreeSet<String> {
        certificates.names().into_iter().collect()
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
        certificates.forget_all_but(&set(["a.pem"]));
        assert_eq!(names(&certificates), set(["a.pem", "b.pem", "default.pem"]));
        certificates.forget_all_but(&BTreeSet::new());
        assert_eq!(names(&certificates), set(["b.pem", "default.pem"]));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = &certificates.folder;
        assert_eq!((mode(folder), mode(&folder.join("b.pem"))), (0o700, 0o600));
    }

    #[test]
    fn a_place_leads_to_what_its_host_presents_and_keys_that_nobody_presents_go_at_once() {
        let temporary = tempfile::tempdir().unwrap();
        let certificates = empty(temporary.path());
        let seen = || fs::read_to_string(certificates.folder.join("host.pem")).unwrap();
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
    fn what_an_nginx_of_a_former_run_reads_stays_until_it_has_forgotten_it() {
        let temporary = tempfile::tempdir().unwrap();
        let former = empty(temporary.path());
        let places = [
            ("a.pem", "own.pem"),
            ("b.pem", "own.pem"),
            ("c.pem", "default.pem"),
        ];
        former
            .publish(files(
                &["pinned.pem", "gone.pem"],
                &[("own.pem", "1")],
                &places,
            ))
            .unwrap();
        let before = names(&former);

        let next = begin(temporary.path(), Left::InUse);
        assert_eq!(names(&next), before);
        next.publish(files(
            &["pinned.pem"],
            &[("new.pem", "2")],
            &[("a.pem", "new.pem")],
        ))
        .unwrap();
        let seen = |name| fs::read_to_string(next.folder.join(name)).unwrap();
        assert_eq!(
            (
                seen("a.pem").as_str(),
                seen("b.pem").as_str(),
                seen("c.pem").as_str()
            ),
            ("2", "1", "C\nK")
        );
        next.forget_all_but(&set(["pinned.pem", "a.pem"]));
        assert_eq!(
            names(&next),
            set(["default.pem", "pinned.pem", "a.pem", "new.pem"])
        );
        assert_eq!(
            names(&empty(temporary.path())),
            set(["default.pem"]),
            "nobody reads it"
        );
    }

    #[test]
    fn a_place_that_nginx_still_names_keeps_what_it_leads_to() {
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
        certificates.forget_all_but(&set(["host.pem"]));
        assert_eq!(
            names(&certificates),
            set(["default.pem", "host.pem", "own.pem"])
        );
        certificates.forget_all_but(&BTreeSet::new());
        assert_eq!(names(&certificates), set(["default.pem"]));
    }
}
