//! The version of an Envoy.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// The version of a program, as it says it: `1.40.0`.
///
/// # Errors
///
/// It does not start, or says something else.
pub fn version(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()?;
    ensure!(output.status.success(), "--version: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).map(str::to_owned).with_context(|| {
        format!(
            "--version: expected `envoy version: COMMIT/VERSION/...`, got {:?}",
            text.trim()
        )
    })
}

fn parse(text: &str) -> Option<&str> {
    let (_, version) = text.split_once("version:")?;
    version.trim().split('/').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_behind_the_commit() {
        let text = "\ntarget/envoy  version: 9e5580933739/1.40.0/Clean/RELEASE/BoringSSL\n\n";
        assert_eq!(parse(text), Some("1.40.0"));
        for other in ["", "nginx version: nginx/1.22.1", "version: 1.40.0"] {
            let found = parse(other);
            assert!(found.is_none_or(|it| !it.starts_with("1.40")), "{other}");
        }
    }
}
