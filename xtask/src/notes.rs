//! `cargo xtask notes`: the notes of a release.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::repository;
use crate::step::say;

/// Prints what the changelog says of a version, which a tag names with a `v`.
pub(crate) fn notes(arguments: &[String]) -> Result<()> {
    let [version] = arguments else {
        anyhow::bail!("cargo xtask notes VERSION");
    };
    let path = repository().join("CHANGELOG.md");
    let changelog = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let version = version.strip_prefix('v').unwrap_or(version);
    say(section(&changelog, version)?);
    Ok(())
}

/// The lines below the heading of a version.
fn section<'c>(changelog: &'c str, version: &str) -> Result<&'c str> {
    // `## 1.2.0 (2026-11-27)`
    let of_it = |heading: &str| heading.split_whitespace().next() == Some(version);
    let mut sections = changelog.split("\n## ").skip(1);
    if let Some(found) = sections.find(|section| of_it(section.lines().next().unwrap_or_default()))
    {
        let body = found.split_once('\n').map_or("", |(_, body)| body).trim();
        ensure!(
            !body.is_empty(),
            "CHANGELOG.md: the section {version} is empty"
        );
        return Ok(body);
    }
    anyhow::bail!(
        "CHANGELOG.md has no heading \"## {version}\": name the changes of the version first"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\n## Unreleased\n\n- x\n\n## 1.1.0 (2026-11-27)\n\n### Added\n\n- b\n\n## 1.0.0\n";

    #[test]
    fn notes_are_the_section_of_the_very_version() {
        assert_eq!(section(CHANGELOG, "1.1.0").unwrap(), "### Added\n\n- b");
        assert_eq!(section(CHANGELOG, "Unreleased").unwrap(), "- x");
        assert!(section("# C\n\n## 2.0.0\n## 1.0.0\n- x", "2.0.0").is_err());
        assert_eq!(
            section("# C\n\n## 2.0.0\n## 1.0.0\n- x", "1.0.0").unwrap(),
            "- x"
        );
        for unknown in ["1.1", "1.0.0", "2.0.0", ""] {
            section(CHANGELOG, unknown).unwrap_err();
        }
    }

    #[test]
    fn the_changelog_has_notes_for_the_next_release() {
        let path = repository().join("CHANGELOG.md");
        let changelog = fs::read_to_string(path).unwrap();
        assert!(section(&changelog, "Unreleased").is_ok());
    }
}
