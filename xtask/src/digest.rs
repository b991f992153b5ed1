//! Digests of files.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::step::Step;

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn sha256(step: &mut Step, file: &Path) -> Result<String> {
    let (status, output) = step.capture(Command::new("sha256sum").arg("--binary").arg(file))?;
    let digest = output
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_start_matches('\\');
    if !status.success() || digest.len() != 64 {
        bail!("sha256sum {}: {output}", file.display());
    }
    Ok(digest.to_owned())
}
