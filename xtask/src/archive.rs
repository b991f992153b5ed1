//! Archives that are the same bytes for the same files.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::step::Step;

/// An archive of a folder's content. GNU tar writes no time, no owner and no order of its own.
pub(crate) fn pack(step: &mut Step, folder: &Path, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--mtime=@0"]);
    tar.args([
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--no-acls",
        "--no-selinux",
        "--no-xattrs",
    ]);
    // The archive of a layer lies in the folder of the layout, not in that of the layer.
    tar.arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(folder);
    let mut names: Vec<_> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<Result<_>>()?;
    names.sort();
    step.run(tar.arg("--").args(names))
}
