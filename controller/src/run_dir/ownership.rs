//! Owner of a folder, and others who could put something there.
//!
//! ```text
//!   ours, and nobody else may write to it                       --> taken
//!   everybody's, as /tmp or a volume of a pod, and nobody's own --> a folder of our own in it
//!   anything else, or a parent that lets others replace it      --> refused
//! ```

use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rustix::process::geteuid;

/// Group and others may write.
const OPEN: u32 = 0o022;
/// Sticky bit: entries are removed and renamed by their owners only.
const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;

/// Owner and mode of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Folder {
    owner: u32,
    mode: u32,
    /// Something of its own is mounted there: it was given to those who see it, as a volume is to the containers of a pod.
    is_mount: bool,
}

/// Use that can be made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Own,
    Shared,
    Foreign,
    Open,
}

/// The folder in which nobody but us puts anything, made if it is not there: the given one, or one of our own in it.
pub(super) fn claim(given: &Path) -> anyhow::Result<PathBuf> {
    let us = geteuid().as_raw();
    let path = resolve(given)?;
    for parent in path.ancestors().skip(1) {
        let place = || parent.display().to_string();
        let folder = Folder::look(parent).with_context(place)?;
        if let Some(who) = folder.replaced_by(us) {
            bail!(
                "{who} may put another folder in its place: they may write to {}; choose another",
                place()
            );
        }
    }
    let own = match make(&path, us)? {
        Standing::Own => path,
        Standing::Shared => {
            let own = path.join(format!("sluice-{us}"));
            match make(&own, us)? {
                Standing::Own => own,
                standing => bail!(standing.advice(&own, us)?),
            }
        }
        standing => bail!(standing.advice(&path, us)?),
    };
    inspect(&own, us)?;
    let nginx = own.join("nginx");
    if nginx.exists() {
        let standing = Folder::look(&nginx)?.standing(us);
        ensure!(standing == Standing::Own, standing.advice(&nginx, us)?);
        inspect(&nginx, us)?;
    }
    Ok(own)
}

/// Its parents are the operator's business, symlinks among them; itself it is no symlink.
fn resolve(given: &Path) -> anyhow::Result<PathBuf> {
    // Whoever comes after us finds the same data plane, wherever it is started.
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

fn make(path: &Path, us: u32) -> anyhow::Result<Standing> {
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
        "{} is a symlink; give the folder that it leads to",
        place()
    );
    ensure!(
        found.is_dir(),
        "{} is not a folder; remove it, or choose another",
        place()
    );
    Ok(Folder::look(path).with_context(place)?.standing(us))
}

/// Refuses entries that somebody put there before the folder was ours alone: they would be taken for ours.
fn inspect(folder: &Path, us: u32) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        // Whoever has the folder right now writes files, and gives them their names when they are whole.
        let Ok(found) = entry.metadata() else {
            continue;
        };
        if let Some(fault) = fault(&found, us) {
            bail!(
                "{} {fault}: it is not ours; remove it, or choose another folder",
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
        (found.is_file() && found.nlink() > 1).then(|| "has another name elsewhere".to_owned())
    }
}

impl Folder {
    fn look(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        let above = path.parent().map(fs::symlink_metadata).transpose()?;
        let is_mount = above.is_some_and(|above| above.dev() != found.dev());
        Ok(Folder {
            owner: found.uid(),
            mode: found.mode(),
            is_mount,
        })
    }

    /// Others may write there, and take away nothing of ours; or only those whose volume it is.
    fn is_shared(self) -> bool {
        self.mode & OPEN != 0 && (self.mode & STICKY != 0 || self.is_mount)
    }

    fn is_trusted(self, us: u32) -> bool {
        self.owner == us || self.owner == ROOT
    }

    fn standing(self, us: u32) -> Standing {
        if self.is_trusted(us) && self.is_shared() {
            Standing::Shared
        } else if self.owner != us {
            Standing::Foreign
        } else if self.mode & OPEN != 0 {
            Standing::Open
        } else {
            Standing::Own
        }
    }

    /// Somebody else who could replace a path below it, in words.
    fn replaced_by(self, us: u32) -> Option<String> {
        if !self.is_trusted(us) {
            Some(format!("user {}", self.owner))
        } else {
            (self.mode & OPEN != 0 && !self.is_shared()).then(|| "others".to_owned())
        }
    }
}

impl Standing {
    /// Error text: the reason, and what to do.
    fn advice(self, path: &Path, us: u32) -> io::Result<String> {
        let found = fs::symlink_metadata(path)?;
        let (place, mode) = (path.display(), found.mode() & 0o7777);
        Ok(match self {
            Standing::Own => format!("{place} is ours"),
            Standing::Foreign => {
                format!(
                    "{place} is owned by user {}, not by user {us}; choose another, or `chown` it",
                    found.uid()
                )
            }
            Standing::Shared | Standing::Open => format!(
                "others may write to {place} (mode {mode:o}); look what is in it, then `chmod 700` it, or choose another"
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_used_when_nobody_else_can_put_anything_there() {
        const US: u32 = 65_532;
        const OTHER: u32 = 1000;
        let standing = |owner, mode, is_mount| {
            Folder {
                owner,
                mode,
                is_mount,
            }
            .standing(US)
        };
        assert_eq!(standing(US, 0o700, false), Standing::Own);
        assert_eq!(standing(US, 0o755, true), Standing::Own);
        // An emptyDir, with and without `fsGroup`, and /tmp.
        for (mode, is_mount) in [
            (0o777, true),
            (0o2777, true),
            (0o2775, true),
            (0o1777, false),
        ] {
            assert_eq!(standing(ROOT, mode, is_mount), Standing::Shared, "{mode:o}");
            assert_eq!(standing(US, mode, is_mount), Standing::Shared, "{mode:o}");
            assert_eq!(
                standing(OTHER, mode, is_mount),
                Standing::Foreign,
                "{mode:o}"
            );
        }
        assert_eq!(standing(ROOT, 0o777, false), Standing::Foreign);
        for mode in [0o777, 0o770, 0o707, 0o720, 0o702] {
            assert_eq!(standing(US, mode, false), Standing::Open, "{mode:o}");
        }
        assert_eq!(standing(ROOT, 0o755, true), Standing::Foreign);
    }

    #[test]
    fn a_parent_that_others_may_write_to_keeps_what_is_ours_only_when_it_is_sticky_or_a_volume() {
        let replaced = |owner, mode, is_mount| {
            Folder {
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
