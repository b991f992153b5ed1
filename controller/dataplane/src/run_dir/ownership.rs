//! Ownership of a directory, and who else could put files there.
//!
//! ```text
//!   ours, and only we can write to it                           --> used
//!   shared, such as /tmp or a pod's volume                      --> a subdirectory of our own is used
//!   anything else, or a parent in which others can replace it   --> rejected
//! ```

use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rustix::process::geteuid;

/// Write permission of group and others.
const WRITABLE: u32 = 0o022;
/// Sticky bit: only owners can remove or rename entries.
const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;

/// Owner and mode of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Directory {
    owner: u32,
    mode: u32,
    /// A mount point: only those it was mounted for see it, such as the containers of a pod.
    is_mount: bool,
}

/// Use that we can make of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    Own,
    Shared,
    Foreign,
    WritableByOthers,
}

/// Creates and checks a directory that only we can write to: the given one, or one of our own inside it.
pub(super) fn claim(given: &Path) -> anyhow::Result<PathBuf> {
    let us = geteuid().as_raw();
    let path = resolve(given)?;
    for parent in path.ancestors().skip(1) {
        let place = || parent.display().to_string();
        let directory = Directory::inspect(parent).with_context(place)?;
        if let Some(who) = directory.replaced_by(us) {
            bail!(
                "{who} can replace this directory, because they can write to {}; choose another",
                place()
            );
        }
    }
    let own = match make(&path, us)? {
        Ownership::Own => path,
        Ownership::Shared => {
            let own = path.join(format!("sluice-{us}"));
            match make(&own, us)? {
                Ownership::Own => own,
                ownership => bail!(ownership.advice(&own, us)?),
            }
        }
        ownership => bail!(ownership.advice(&path, us)?),
    };
    inspect(&own, us)?;
    let nginx = own.join("nginx");
    if nginx.exists() {
        let ownership = Directory::inspect(&nginx)?.ownership(us);
        ensure!(ownership == Ownership::Own, ownership.advice(&nginx, us)?);
        inspect(&nginx, us)?;
    }
    Ok(own)
}

/// Resolves symlinks in the parents, which the operator controls, but not in the last component.
fn resolve(given: &Path) -> anyhow::Result<PathBuf> {
    // A later controller must find the same data plane, from any working directory.
    let path = std::path::absolute(given)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(path.canonicalize()?);
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(parent)?;
    Ok(parent.canonicalize()?.join(name))
}

fn make(path: &Path, us: u32) -> anyhow::Result<Ownership> {
    let place = || path.display().to_string();
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).with_context(place);
        }
        _ => {}
    }
    let found = fs::symlink_metadata(path).with_context(place)?;
    ensure!(
        !found.is_symlink(),
        "{} is a symlink; give the directory that it points to",
        place()
    );
    ensure!(
        found.is_dir(),
        "{} is not a directory; remove it, or choose another",
        place()
    );
    Ok(Directory::inspect(path).with_context(place)?.ownership(us))
}

/// Rejects entries that others may have created while they could still write to the directory.
fn inspect(directory: &Path, us: u32) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let entry = entry?;
        // A controller that uses the directory right now may rename or remove entries.
        let Ok(found) = entry.metadata() else {
            continue;
        };
        if let Some(fault) = fault(&found, us) {
            bail!(
                "{} {fault}, so it is not ours; remove it, or choose another directory",
                entry.path().display()
            );
        }
    }
    Ok(())
}

fn fault(found: &Metadata, us: u32) -> Option<String> {
    if found.is_symlink() {
        Some("is a symlink".to_owned())
    } else if found.uid() != us {
        Some(format!("is owned by user {}", found.uid()))
    } else {
        (found.is_file() && found.nlink() > 1).then(|| "has another hard link".to_owned())
    }
}

impl Directory {
    fn inspect(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        let above = path.parent().map(fs::symlink_metadata).transpose()?;
        let is_mount = above.is_some_and(|above| above.dev() != found.dev());
        Ok(Directory {
            owner: found.uid(),
            mode: found.mode(),
            is_mount,
        })
    }

    /// Others can write there but not remove our files, or it is a volume of our own pod.
    fn is_shared(self) -> bool {
        self.mode & WRITABLE != 0 && (self.mode & STICKY != 0 || self.is_mount)
    }

    fn is_trusted(self, us: u32) -> bool {
        self.owner == us || self.owner == ROOT
    }

    fn ownership(self, us: u32) -> Ownership {
        if self.is_trusted(us) && self.is_shared() {
            Ownership::Shared
        } else if self.owner != us {
            Ownership::Foreign
        } else if self.mode & WRITABLE != 0 {
            Ownership::WritableByOthers
        } else {
            Ownership::Own
        }
    }

    /// Others who can replace a path below it, for an error message.
    fn replaced_by(self, us: u32) -> Option<String> {
        if !self.is_trusted(us) {
            Some(format!("user {}", self.owner))
        } else {
            (self.mode & WRITABLE != 0 && !self.is_shared()).then(|| "others".to_owned())
        }
    }
}

impl Ownership {
    /// Error text with the reason and a remedy.
    fn advice(self, path: &Path, us: u32) -> io::Result<String> {
        let found = fs::symlink_metadata(path)?;
        let (place, mode) = (path.display(), found.mode() & 0o7777);
        Ok(match self {
            Ownership::Own => format!("{place} is ours"),
            Ownership::Foreign => {
                format!(
                    "{place} is owned by user {}, not by user {us}; choose another, or `chown` it",
                    found.uid()
                )
            }
            Ownership::Shared | Ownership::WritableByOthers => format!(
                "others can write to {place} (mode {mode:o}); check its contents and `chmod 700` it, or choose another"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_used_only_if_nobody_else_can_write_to_it() {
        const US: u32 = 65_532;
        const OTHER: u32 = 1000;
        let ownership = |owner, mode, is_mount| {
            Directory {
                owner,
                mode,
                is_mount,
            }
            .ownership(US)
        };
        assert_eq!(ownership(US, 0o700, false), Ownership::Own);
        assert_eq!(ownership(US, 0o755, true), Ownership::Own);
        // An emptyDir, with and without `fsGroup`, and /tmp.
        for (mode, is_mount) in [
            (0o777, true),
            (0o2777, true),
            (0o2775, true),
            (0o1777, false),
        ] {
            assert_eq!(
                ownership(ROOT, mode, is_mount),
                Ownership::Shared,
                "{mode:o}"
            );
            assert_eq!(ownership(US, mode, is_mount), Ownership::Shared, "{mode:o}");
            assert_eq!(
                ownership(OTHER, mode, is_mount),
                Ownership::Foreign,
                "{mode:o}"
            );
        }
        assert_eq!(ownership(ROOT, 0o777, false), Ownership::Foreign);
        for mode in [0o777, 0o770, 0o707, 0o720, 0o702] {
            assert_eq!(
                ownership(US, mode, false),
                Ownership::WritableByOthers,
                "{mode:o}"
            );
        }
        assert_eq!(ownership(ROOT, 0o755, true), Ownership::Foreign);
    }

    #[test]
    fn writable_parent_is_safe_only_if_sticky_or_a_volume() {
        let replaced = |owner, mode, is_mount| {
            Directory {
                owner,
                mode,
                is_mount,
            }
            .replaced_by(5)
        };
        assert_eq!(replaced(1000, 0o755, false).as_deref(), Some("user 1000"));
        assert_eq!(replaced(ROOT, 0o777, false).as_deref(), Some("others"));
        for (owner, mode, is_mount) in [
            (5, 0o700, false),
            (ROOT, 0o755, false),
            (ROOT, 0o1777, false),
            (ROOT, 0o777, true),
        ] {
            assert_eq!(replaced(owner, mode, is_mount), None, "{mode:o}");
        }
    }
}
