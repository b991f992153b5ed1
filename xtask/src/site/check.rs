//! The site as it was built: each link leads to a file of it, and to a part of the page that there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// A page of HTML.
#[derive(Default)]
struct Page {
    ids: BTreeSet<String>,
    links: Vec<Link>,
}

struct Link {
    to: String,
    /// Loaded with the page, as pictures, scripts and styles are.
    is_asset: bool,
}

/// Fails with all links that lead nowhere.
pub(super) fn site(root: &Path, pages: usize) -> Result<()> {
    let mut files = BTreeMap::new();
    read(root, root, &mut files)?;
    let html = files.values().flatten();
    let links: usize = html.clone().map(|page| page.links.len()).sum();
    ensure!(
        html.count() >= pages && links > pages,
        "{pages} pages, {} files, {links} links",
        files.len()
    );
    let searchable = files.keys().any(|path| is_search_index(path));
    ensure!(searchable, "the site has no search index");
    let dead: Vec<String> = files
        .iter()
        .flat_map(|(path, page)| page.iter().map(move |page| (path, page)))
        .flat_map(|(path, page)| page.links.iter().map(move |link| (path, link)))
        .filter_map(|(path, link)| {
            Some(format!(
                "{}: {}",
                path.display(),
                fault(&files, path, link)?
            ))
        })
        .collect();
    ensure!(dead.is_empty(), "{}", dead.join("\n"));
    Ok(())
}

fn is_search_index(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("searchindex")
}

/// All files, from the root of the site; what they say is known of pages.
fn read(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Option<Page>>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            read(root, &path, files)?;
            continue;
        }
        let is_page = path.extension().is_some_and(|kind| kind == "html");
        let page = is_page.then(|| fs::read_to_string(&path)).transpose()?;
        let page = page.map(|text| Page::parse(&text));
        files.insert(path.strip_prefix(root)?.to_owned(), page);
    }
    Ok(())
}

impl Page {
    /// Attributes of tags; scripts have none.
    fn parse(html: &str) -> Page {
        let mut page = Page::default();
        let mut rest = html;
        while let Some((_, from)) = rest.split_once('<') {
            let (tag, after) = from.split_once('>').unwrap_or((from, ""));
            page.read(tag);
            rest = if tag.starts_with("script") {
                after.split_once("</script").map_or("", |(_, after)| after)
            } else {
                after
            };
        }
        page
    }

    fn read(&mut self, tag: &str) {
        self.ids.extend(attribute(tag, "id"));
        let is_asset = !tag.starts_with("a ");
        for name in ["href", "src"] {
            let links = attribute(tag, name).map(|to| Link { to, is_asset });
            // The one link that is none: what others begin at.
            self.links
                .extend(links.filter(|_| !tag.starts_with("base ")));
        }
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, from) = tag.split_once(&format!(" {name}=\""))?;
    let (value, _) = from.split_once('"')?;
    Some(value.replace("&amp;", "&"))
}

/// The reason why a link is dead.
fn fault(files: &BTreeMap<PathBuf, Option<Page>>, page: &Path, link: &Link) -> Option<String> {
    let to = &link.to;
    if to.starts_with("data:") {
        return None;
    }
    if to.contains("://") || to.starts_with("mailto:") {
        return link.is_asset.then(|| format!("{to} is of another site"));
    }
    let (path, anchor) = to.split_once('#').unwrap_or((to, ""));
    let path = path.split('?').next().unwrap_or_default();
    let target = if path.is_empty() {
        Some(page.to_owned())
    } else {
        beside(page, path)
    };
    let Some(found) = target.and_then(|target| files.get(&target)) else {
        return Some(format!("{to} leads nowhere"));
    };
    let has = |page: &Page| anchor.is_empty() || page.ids.contains(anchor);
    let is_there = found.as_ref().is_none_or(has);
    (!is_there).then(|| format!("{to} leads to no part of the page"))
}

/// `None` leads out of the site.
fn beside(page: &Path, link: &str) -> Option<PathBuf> {
    let mut path = page.parent()?.to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A site of two pages, one of which has this.
    fn checked(html: &str) -> Result<()> {
        let root =
            std::env::temp_dir().join(format!("sluice-site-{}-{}", std::process::id(), html.len()));
        fs::create_dir_all(root.join("a"))?;
        fs::write(root.join("searchindex.js"), "")?;
        fs::write(
            root.join("a/other.html"),
            "<h2 id=\"part\"><a href=\"../index.html\">",
        )?;
        fs::write(
            root.join("index.html"),
            format!("<a href=\"a/other.html\">{html}"),
        )?;
        let result = site(&root, 1);
        fs::remove_dir_all(&root)?;
        result
    }

    #[test]
    fn links_of_a_good_site_are_good() -> Result<()> {
        checked(
            "<h1 id=\"here\"><a class=\"x\" href=\"#here\"><a href=\"a/other.html#part\"><a href=\"https://a.example\">
            <script>if (1 < 2) { '<a href=\"nothing.html\">' }</script><img src=\"searchindex.js?a=1&amp;b\">",
        )
    }

    #[test]
    fn dead_links_are_found() {
        for html in [
            "<a href=\"nothing.html\">",
            "<a class=\"xx\" href=\"#nothing\">",
            "<p><a href=\"a/other.html#nothing\">",
            "<p><p><a href=\"../outside.html\">",
            "<img src=\"nothing.svg\">",
            "<link rel=\"stylesheet\" href=\"https://a.example/x.css\">",
            "<script src=\"//a.example/x.js\"></script>",
        ] {
            assert!(checked(html).is_err(), "{html}");
        }
    }
}
