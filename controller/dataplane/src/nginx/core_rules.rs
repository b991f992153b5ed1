//! Files of the OWASP Core Rule Set on this machine.

use std::path::{Path, PathBuf};

use sluice_nginx::ModSecurity;
use sluice_syntax::seclang::core_ids;

/// With the ids of the core rules as they are now.
pub(super) fn with_ids(module: ModSecurity) -> ModSecurity {
    ModSecurity {
        core_ids: core_ids(&module.core_rules, texts),
        ..module
    }
}

/// Texts of the files at a path, whose name may have a star in it. `None`: one of them cannot be read.
fn texts(path: &Path) -> Option<Vec<String>> {
    let name = path.file_name()?.to_str()?;
    let Some((first, last)) = name.split_once('*') else {
        return Some(vec![text(path)?]);
    };
    let entries = std::fs::read_dir(path.parent()?).ok()?;
    let files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .ok()?;
    let rest = |file: &PathBuf| Some(file.file_name()?.to_str()?.strip_prefix(first)?.to_owned());
    let fits = |file: &&PathBuf| rest(file).is_some_and(|rest| rest.ends_with(last));
    files.iter().filter(fits).map(|file| text(file)).collect()
}

fn text(file: &Path) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_for_the_files_of_a_folder_that_fit() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.conf", "b.conf", "c.data"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let of = |name: &str| {
            let mut texts = texts(&folder.path().join(name))?;
            texts.sort_unstable();
            Some(texts)
        };
        let owned = |texts: &[&str]| Some(texts.iter().map(ToString::to_string).collect());
        assert_eq!(of("*.conf"), owned(&["a.conf", "b.conf"]));
        assert_eq!(of("c.data"), owned(&["c.data"]));
        assert_eq!(of("d*"), owned(&[]));
        assert_eq!(of("d.conf"), None);
    }
}
