//! The files of the repository that are ours.

use std::fs;
use std::path::{Path, PathBuf};

use sluice_tests::artifacts::repository;

/// A source file: its path from the root of the repository, and its text.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// Lines with their numbers, without comments and what stands behind `//`.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate();
        lines.map(|(n, line)| (n + 1, line.split("//").next().unwrap_or_default()))
    }

    /// The line of the tests at the end of the file. What is marked as theirs before that is a part of the code.
    fn tests_begin(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let begin = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests");
        lines
            .windows(2)
            .position(begin)
            .map_or(usize::MAX, |before| before + 1)
    }

    /// `path:line` of each code line with one of these words, up to the tests at the end of the file.
    pub(crate) fn uses(&self, words: &[&str]) -> Vec<String> {
        let end = self.tests_begin();
        let code = self.code().take_while(|(n, _)| *n < end);
        let found = code.filter(|(_, line)| words.iter().any(|word| line.contains(word)));
        found
            .map(|(n, line)| format!("{}:{n}: {}", self.path, line.trim()))
            .collect()
    }
}

/// All Rust files below a folder, sorted.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    files(folder, "rs")
}

/// All files below a folder with this ending, sorted.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    visit(&repository().join(folder), &mut |path| {
        if path
            .extension()
            .is_some_and(|extension| extension == ending)
        {
            let text = fs::read_to_string(path).unwrap();
            sources.push(Source {
                path: relative(path),
                text,
            });
        }
    });
    sources
}

/// The path from the root of the repository.
pub(crate) fn relative(path: &Path) -> String {
    path.strip_prefix(repository())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Folders that are not ours: build output, tools, and hidden folders.
fn visit(folder: &Path, found: &mut dyn FnMut(&Path)) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            visit(&path, found);
        } else if path.is_file() {
            found(&path);
        }
    }
}
