//! Manifests of a folder, and their changes.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A manifest larger than this is not read. The API server stores objects of up to 1.5 MB.
pub(crate) const LARGEST: u64 = 64 << 20;

/// Manifests, each in its state.
pub(crate) type Manifests = BTreeMap<PathBuf, Fingerprint>;

/// Tells one state of a file from another. The inode is part of it, because editors replace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Fingerprint {
    /// `None` when there is no such file (any more).
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        // Follows links: a mounted ConfigMap is a farm of them.
        let metadata = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Some(Fingerprint {
            inode: metadata.ino(),
            size: metadata.size(),
            modified,
        })
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

/// True if a path is a manifest by its name. Hidden files are the business of editors and of the kubelet.
pub(crate) fn is_manifest(path: &Path) -> bool {
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    matches!(extension, "yaml" | "yml" | "json") && !is_hidden(path)
}

/// True if a change of this path, which is no manifest, can mean that manifests behind it changed: a folder (one that
/// is gone cannot be asked, but has no extension), or the kubelet's `..data` link. Not the temporary files of editors.
pub(crate) fn may_hold_manifests(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    name.starts_with("..") || (!is_hidden(path) && (path.is_dir() || path.extension().is_none()))
}

pub(crate) fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_none_or(|name| name.starts_with('.'))
}

/// Manifests under a folder, and what could not be read.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) manifests: Manifests,
    /// Folders that cannot be listed, and manifests that are links to nothing.
    pub(crate) unreadable: Vec<(PathBuf, io::Error)>,
}

/// Every manifest under a folder, in the order of their paths. Fails when it or one below it cannot be listed: what is in that one is
/// not gone. `rest` is called after each file, to yield where there is no hurry.
pub(crate) fn manifests(folder: &Path, rest: impl Fn()) -> io::Result<Manifests> {
    let Listing {
        manifests,
        unreadable,
    } = listing(folder, rest);
    // A link to nothing is a file that is about to come or to go.
    let failed = unreadable
        .into_iter()
        .find(|(path, _)| !path.is_symlink() || path.is_dir());
    match failed {
        None => Ok(manifests),
        Some((path, error)) if path == folder => Err(error),
        Some((path, error)) => {
            let reason = format!("{}: {error}", path.display());
            Err(io::Error::new(error.kind(), reason))
        }
    }
}

/// The same with everything that can be read. A file is its own only manifest, whatever its name.
pub(crate) fn listing(folder: &Path, rest: impl Fn()) -> Listing {
    let mut found = Listing::default();
    if let Some(fingerprint) = Fingerprint::from_path(folder) {
        found.manifests.insert(folder.to_owned(), fingerprint);
        return found;
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if let Err(error) = list(&folder, &mut folders, &mut found, &rest) {
            found.unreadable.push((folder, error));
        }
    }
    found
}

fn list(
    folder: &Path,
    folders: &mut Vec<PathBuf>,
    found: &mut Listing,
    rest: &impl Fn(),
) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if is_hidden(&path) {
            continue;
        }
        if path.is_dir() {
            folders.push(path);
        } else if is_manifest(&path) {
            if let Some(fingerprint) = Fingerprint::from_path(&path) {
                found.manifests.insert(path, fingerprint);
                rest();
            } else if path.is_symlink()
                && let Err(error) = std::fs::metadata(&path)
            {
                found.unreadable.push((path, error));
            }
        }
    }
    Ok(())
}

/// The text of a manifest, or why there is none.
pub(crate) fn text(path: &Path, fingerprint: Fingerprint) -> Result<String, String> {
    if fingerprint.size() > LARGEST {
        let largest = LARGEST >> 20;
        let size = fingerprint.size();
        return Err(format!(
            "expected at most {largest} MiB, got {size} bytes; not read"
        ));
    }
    match std::fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(_)) => Err("expected UTF-8 text; not read".to_owned()),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root reads every folder: one that is gone stands for one that is forbidden.
    #[test]
    fn a_folder_that_cannot_be_listed_is_named_and_fails_the_whole() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("a.yaml"), "")?;
        let mut found = listing(folder.path(), || ());
        assert_eq!((found.manifests.len(), found.unreadable.len()), (1, 0));
        let gone = folder.path().join("gone");
        let mut folders = Vec::new();
        assert!(list(&gone, &mut folders, &mut found, &|| ()).is_err());
        let found = listing(&gone, || ());
        assert_eq!(found.unreadable[0].0, gone);
        assert!(manifests(&gone, || ()).is_err());
        std::os::unix::fs::symlink("nowhere", folder.path().join("b.yaml"))?;
        assert_eq!(listing(folder.path(), || ()).unreadable.len(), 1);
        assert_eq!(manifests(folder.path(), || ())?.len(), 1);
        Ok(())
    }

    #[test]
    fn temporary_files_of_editors_mean_nothing() {
        for name in [
            ".shop.yaml.swp",
            ".#shop.yaml",
            "shop.yaml~",
            "shop.yaml.tmp",
            ".t",
        ] {
            let path = Path::new("/manifests").join(name);
            assert!(!is_manifest(&path) && !may_hold_manifests(&path), "{name}");
        }
        assert!(is_manifest(Path::new("/manifests/shop.yaml")));
        assert!(may_hold_manifests(Path::new("/manifests/..data")));
        assert!(may_hold_manifests(Path::new("/manifests/gone-folder")));
    }
}
