//! Licences of everything that is linked into our programs, as their sources have them. Those of packages are in
//! /usr/share/doc/PACKAGE/copyright.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::parts::Part;
use crate::files;
use crate::repository;
use crate::step::Step;

/// Names of files that carry one, in lower case.
const NAMES: [&str; 6] = [
    "licence",
    "license",
    "copying",
    "copyright",
    "notice",
    "unlicense",
];

/// Writes `LICENSE`, `THIRD-PARTY.txt` and the standard library's own page into a folder.
pub(super) fn write(step: &mut Step, parts: &[Part], place: &Path) -> Result<()> {
    let rust = documents_of_rust(step)?;
    files::copy(&repository().join("LICENSE"), &place.join("LICENSE"))?;
    files::copy(
        &rust.join("COPYRIGHT-library.html"),
        &place.join("rust-std-COPYRIGHT.html"),
    )?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.licence.is_some()) {
        let title = title(part);
        for text in texts_of(part, &rust)? {
            texts.entry(text).or_default().push(title.clone());
        }
    }
    let mut all = String::from("Software in this image that others wrote, and its licences.\n");
    for (text, titles) in &texts {
        let line = "=".repeat(80);
        write!(all, "\n{line}\n{}\n{line}\n\n{text}\n", titles.join("\n"))?;
    }
    files::write(&place.join("THIRD-PARTY.txt"), all)
}

fn title(part: &Part) -> String {
    let licence = part.licence.as_deref().unwrap_or_default();
    let mut title = format!("{} {} ({licence})", part.name, part.version);
    if let Some((_, authors)) = part
        .source
        .as_ref()
        .filter(|(_, authors)| !authors.is_empty())
    {
        title += &format!(", {}", authors.join(", "));
    }
    title
}

/// Texts beside its sources. A crate without any gets those of its expression, and its title names the authors.
fn texts_of(part: &Part, rust: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    if let Some((folder, _)) = &part.source {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .to_lowercase();
            if path.is_file() && NAMES.iter().any(|prefix| name.starts_with(prefix)) {
                let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
                texts.push(
                    String::from_utf8_lossy(&bytes)
                        .replace("\r\n", "\n")
                        .trim()
                        .to_owned(),
                );
            }
        }
    }
    if texts.is_empty() {
        texts = standard_texts(part, rust)?;
    }
    texts.sort();
    Ok(texts)
}

fn standard_texts(part: &Part, rust: &Path) -> Result<Vec<String>> {
    let licence = part.licence.as_deref().unwrap_or_default();
    let words = licence.split(|c: char| c.is_whitespace() || "()".contains(c));
    let names = words.filter(|word| !["", "OR", "AND", "WITH"].contains(word));
    let files = names.map(|name| rust.join(format!("licenses/{name}.txt")));
    let texts: Vec<String> = files
        .filter_map(|file| fs::read_to_string(file).ok())
        .map(|text| text.trim().to_owned())
        .collect();
    ensure!(
        !texts.is_empty(),
        "{} {} has no licence among its sources, and {licence:?} is none that Rust brings the text of",
        part.name,
        part.version
    );
    Ok(texts)
}

/// Rust's own: the licences of the standard library, and the texts of the usual ones.
fn documents_of_rust(step: &mut Step) -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    let (status, output) =
        step.capture(rustc.current_dir(repository()).args(["--print", "sysroot"]))?;
    ensure!(status.success(), "rustc --print sysroot: {output}");
    let folder = Path::new(output.trim()).join("share/doc/rust");
    ensure!(
        folder.join("COPYRIGHT-library.html").is_file(),
        "this Rust has no {}: install the one of rust-toolchain.toml with rustup",
        folder.join("COPYRIGHT-library.html").display()
    );
    Ok(folder)
}
