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

/// Every manifest under a folder, in the order of their paths. A file is its own only manifest, whatever its name.
/// `rest` is called after each file, to yield where there is no hurry.
pub(crate) fn manifests(folder: &Path, rest: impl Fn()) -> io::Result<Manifests> {
    if let Some(fingerprint) = Fingerprint::from_path(folder) {
        return Ok(BTreeMap::from([(folder.to_owned(), fingerprint)]));
    }
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if is_hidden(&path) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if is_manifest(&path)
                && let Some(fingerprint) = Fingerprint::from_path(&path)
            {
                found.insert(path, fingerprint);
                rest();
            }
        }
    }
    Ok(found)
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
