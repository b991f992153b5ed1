//! Pages as mdBook reads them: their places, and links between them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::links;
use crate::repository;

const FOLDER: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";
/// The first page of the repository, and the first of the site.
const README: &str = "README.md";
const INDEX: &str = "index.md";

/// Paths are from the root of the repository.
struct Book {
    /// Each page, and its place in the site.
    pages: BTreeMap<PathBuf, PathBuf>,
    /// The address of files that are no pages.
    blobs: String,
    pictures: BTreeSet<PathBuf>,
}

/// Writes all that mdBook reads, and says how many pages that is.
pub(super) fn book(into: &Path, blobs: &str) -> Result<usize> {
    let mut book = Book {
        pages: pages()?,
        blobs: blobs.to_owned(),
        pictures: BTreeSet::new(),
    };
    if into.is_dir() {
        fs::remove_dir_all(into).with_context(|| into.display().to_string())?;
    }
    let docs = repository().join(FOLDER);
    copy(&docs.join("book.toml"), &into.join("book.toml"))?;
    for entry in fs::read_dir(docs.join("theme"))? {
        let entry = entry?;
        copy(&entry.path(), &into.join("theme").join(entry.file_name()))?;
    }
    let source = into.join("src");
    let mut all = book.pages.clone();
    all.insert(SUMMARY.into(), place(Path::new(SUMMARY)));
    for (page, place) in &all {
        let text = read(page)?;
        let text = book.relinked(page, &text)?;
        write(&source.join(place), &text)?;
    }
    for picture in &book.pictures {
        copy(&repository().join(picture), &source.join(place(picture)))?;
    }
    Ok(book.pages.len())
}

/// The pages that the table of contents names.
fn pages() -> Result<BTreeMap<PathBuf, PathBuf>> {
    let summary = read(Path::new(SUMMARY))?;
    let mut pages = BTreeMap::new();
    for target in links::targets(&summary) {
        let page = resolve(Path::new(SUMMARY), &summary[target])?;
        let place = place(&page);
        let before = pages.insert(page, place);
        ensure!(before.is_none(), "{SUMMARY}: {before:?} is there twice");
    }
    Ok(pages)
}

/// Pages of docs/ are at the top of the site, others in a folder of theirs: SECURITY.md and docs/security.md would be one file on
/// some machines.
fn place(path: &Path) -> PathBuf {
    path.strip_prefix(FOLDER)
        .map_or_else(|_| Path::new("project").join(path), Path::to_owned)
}

impl Book {
    /// The page with links as the site has them.
    fn relinked(&mut self, page: &Path, text: &str) -> Result<String> {
        let mut made = String::with_capacity(text.len());
        let mut done = 0;
        for target in links::targets(text) {
            made += &text[done..target.start];
            made += &self.link(page, &text[target.clone()])?;
            done = target.end;
        }
        made += &text[done..];
        Ok(made)
    }

    fn link(&mut self, page: &Path, link: &str) -> Result<String> {
        if link.starts_with('#') || link.contains("://") || link.starts_with("mailto:") {
            return Ok(link.to_owned());
        }
        let (path, anchor) = link
            .find('#')
            .map_or((link, ""), |anchor| link.split_at(anchor));
        let to = resolve(page, path)?;
        if to == Path::new(README) {
            return Ok(format!("{}{anchor}", relative(page, Path::new(INDEX))));
        }
        if let Some(place) = self.pages.get(&to) {
            return Ok(format!("{}{anchor}", relative(page, place)));
        }
        if to.extension().is_some_and(|kind| kind == "svg") {
            let link = relative(page, &place(&to));
            self.pictures.insert(to);
            return Ok(link);
        }
        ensure!(
            repository().join(&to).exists(),
            "{}: there is no {link}",
            page.display()
        );
        Ok(format!("{}/{}{anchor}", self.blobs, to.display()))
    }
}

/// From the place of a page to another place.
fn relative(page: &Path, to: &Path) -> String {
    let depth = place(page).components().count().saturating_sub(1);
    "../".repeat(depth) + &to.display().to_string()
}

/// The path of a link, from the root of the repository.
fn resolve(page: &Path, link: &str) -> Result<PathBuf> {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => bail!("{}: {link} is outside of the repository", page.display()),
        }
    }
    Ok(path)
}

fn read(page: &Path) -> Result<String> {
    fs::read_to_string(repository().join(page)).with_context(|| page.display().to_string())
}

fn write(path: &Path, text: &str) -> Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text).with_context(|| path.display().to_string())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> Book {
        let pages = ["docs/a.md", "docs/b.md", "C.md", "d/e/README.md"];
        let pages = pages.map(|page| (page.into(), place(Path::new(page))));
        Book {
            pages: pages.into(),
            blobs: "https://git.example/x/blob/1".to_owned(),
            pictures: BTreeSet::new(),
        }
    }

    #[test]
    fn links_lead_where_they_lead_in_the_repository() -> Result<()> {
        for (page, link, expected) in [
            ("docs/a.md", "b.md#c-d", "b.md#c-d"),
            ("docs/a.md", "../C.md", "project/C.md"),
            ("docs/a.md", "../d/e/README.md", "project/d/e/README.md"),
            ("C.md", "docs/a.md", "../a.md"),
            ("C.md", "README.md", "../index.md"),
            ("d/e/README.md", "../../docs/a.md#x", "../../../a.md#x"),
            ("d/e/README.md", "../../C.md", "../../../project/C.md"),
            (
                "docs/a.md",
                "../tests/packaging/rbac.txt",
                "https://git.example/x/blob/1/tests/packaging/rbac.txt",
            ),
            ("C.md", "docs/pictures/spread.svg", "../pictures/spread.svg"),
            (
                "docs/a.md",
                "https://a.example/b.md",
                "https://a.example/b.md",
            ),
            ("docs/a.md", "#here", "#here"),
        ] {
            let text = format!("[x]({link}) `[x]({link})`");
            let made = book().relinked(Path::new(page), &text)?;
            assert_eq!(made, format!("[x]({expected}) `[x]({link})`"), "{page}");
        }
        Ok(())
    }

    #[test]
    fn link_that_leads_nowhere_is_refused() {
        for link in ["nothing.md", "../nothing.txt", "../../outside.md"] {
            let made = book().relinked(Path::new("docs/a.md"), &format!("[x]({link})"));
            assert!(made.is_err(), "{link}: {made:?}");
        }
    }
}
