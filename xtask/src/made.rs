//! Files that are made of others, and only again when those are others.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};

use crate::files;

/// Makes a file, unless it was made of these very files already: what it is of is said beside it.
pub(crate) fn unless_made(
    file: &Path,
    sources: &[&Path],
    make: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let of: Vec<String> = sources
        .iter()
        .map(|path| identity(path))
        .collect::<Result<_>>()?;
    let of = of.join("\n");
    let beside = file.with_extension("of");
    if file.is_file() && fs::read_to_string(&beside).is_ok_and(|before| before == of) {
        return Ok(());
    }
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    make()?;
    files::write(&beside, of)
}

/// Another file, or another version of it, has another.
fn identity(path: &Path) -> Result<String> {
    let data = path
        .metadata()
        .with_context(|| path.display().to_string())?;
    let (seconds, nanoseconds) = (data.mtime(), data.mtime_nsec());
    let path = path.display();
    Ok(format!("{path} {} {seconds}.{nanoseconds}", data.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work_dir::WorkDir;

    #[test]
    fn a_file_is_made_again_of_whatever_else_it_is_of() {
        let work_dir = WorkDir::new().unwrap();
        let folder = work_dir.create("made").unwrap();
        let [made, one, other] = ["made", "one", "other"].map(|name| folder.join(name));
        files::write(&one, "1").unwrap();
        files::write(&other, "1").unwrap();
        let is_made = |of: &Path| {
            let mut is_made = false;
            unless_made(&made, &[of], || {
                is_made = true;
                files::write(&made, "")
            })
            .unwrap();
            is_made
        };
        assert_eq!([is_made(&one), is_made(&one)], [true, false]);
        assert_eq!(
            [is_made(&other), is_made(&one), is_made(&one)],
            [true, true, false]
        );
        files::write(&one, "12").unwrap();
        assert_eq!([is_made(&one), is_made(&one)], [true, false]);
        fs::remove_file(&made).unwrap();
        assert!(is_made(&one));
    }
}
