//! Pages: a link to a part of one leads to one place, and that place is there.

use std::collections::{BTreeMap, BTreeSet};

use sluice_tests::artifacts::repository;

use crate::tree::{Source, files};

/// As GitHub and mdBook make them of headings. `Err` has those that two headings would have.
fn anchors(page: &Source) -> Result<BTreeSet<String>, Vec<String>> {
    let (mut anchors, mut twice) = (BTreeSet::new(), Vec::new());
    let mut is_code = false;
    for line in page.text.lines() {
        is_code ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let anchor: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let anchor = anchor.replace(' ', "-");
        if !anchors.insert(anchor.clone()) {
            twice.push(anchor);
        }
    }
    if twice.is_empty() {
        Ok(anchors)
    } else {
        Err(twice)
    }
}

#[test]
fn no_two_headings_of_a_page_have_the_same_anchor() {
    let pages = files("", "md");
    assert!(pages.len() > 10, "adapt this test if they moved");
    let twice = pages
        .iter()
        .filter_map(|page| Some((page.path.clone(), anchors(page).err()?)));
    let twice: Vec<(String, Vec<String>)> = twice.collect();
    assert!(twice.is_empty(), "name one of them otherwise: {twice:?}");
}

/// A page that nothing leads to is read by nobody.
#[test]
fn every_page_of_the_documentation_is_linked_from_the_readme() {
    let pages = files("", "md");
    let readme = pages.iter().find(|page| page.path == "README.md");
    let readme = &readme.expect("README.md").text;
    let pages = pages.iter().map(|page| page.path.as_str());
    let orphans: Vec<&str> = pages
        .filter(|path| path.starts_with("docs/") && !readme.contains(&format!("]({path})")))
        .filter(|path| !is_beside(path))
        .collect();
    assert!(orphans.is_empty(), "README.md does not link to {orphans:?}");
}

/// Parts of pages, which link to them.
fn is_beside(path: &str) -> bool {
    matches!(
        path,
        "docs/differences-envoy.md"
            | "docs/differences-nginx.md"
            | "docs/glossary.md"
            // The site's own.
            | "docs/index.md"
            | SUMMARY
    )
}

/// The table of contents of the site, which `cargo xtask site` makes.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Whoever follows links stays in the site.
#[test]
fn every_page_is_in_the_site() {
    // What the repository begins with, and what is beside keys of tests.
    const OTHERS: [&str; 4] = [
        SUMMARY,
        "README.md",
        "controller/translate/syntax/keys/README.md",
        "controller/translate/syntax/weak/README.md",
    ];
    let pages = files("", "md");
    let summary = pages.iter().find(|page| page.path == SUMMARY);
    let listed = links(&summary.expect(SUMMARY).text);
    let listed: Vec<String> = listed.map(|link| beside(SUMMARY, link)).collect();
    let paths = pages.iter().map(|page| &page.path);
    let missing: Vec<&String> = paths
        .filter(|path| !listed.contains(path) && !OTHERS.contains(&path.as_str()))
        .collect();
    assert!(missing.is_empty(), "{SUMMARY} does not list {missing:?}");
}

/// Targets of links: `](...)`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let rests = text.split("](").skip(1);
    rests.filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// Each `](page.md#anchor)`, `](#anchor)` for the page itself, and `](file)`.
#[test]
fn links_of_pages_lead_somewhere() {
    let pages = files("", "md");
    let of: BTreeMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|page| (page.path.as_str(), anchors(page).unwrap_or_default()))
        .collect();
    let mut broken = Vec::new();
    let mut followed = 0;
    for page in &pages {
        for link in links(&page.text).filter(|link| !link.contains("://")) {
            let (to, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = if to.is_empty() {
                page.path.clone()
            } else {
                beside(&page.path, to)
            };
            let is_there = if anchor.is_empty() {
                repository().join(&path).exists()
            } else {
                of.get(path.as_str())
                    .is_some_and(|anchors| anchors.contains(anchor))
            };
            if !is_there {
                broken.push(format!("{}: {link}", page.path));
            }
            followed += 1;
        }
    }
    assert!(followed > 100, "{followed} links were followed");
    assert!(
        broken.is_empty(),
        "links that lead nowhere:\n{}",
        broken.join("\n")
    );
}

/// A path that is written in a file, from the root of the repository.
fn beside(file: &str, to: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in to.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn headings_are_found_outside_of_code_only() {
    let page = |text: &str| Source {
        path: "docs/x.md".to_owned(),
        text: text.to_owned(),
    };
    let found = anchors(&page(
        "# A: b-c\n```sh\n# no heading\n```\n## `D` (e)\n#none\n",
    ));
    assert_eq!(
        found,
        Ok(BTreeSet::from(["a-b-c".to_owned(), "d-e".to_owned()]))
    );
    assert_eq!(anchors(&page("# A\n## a\n")), Err(vec!["a".to_owned()]));
    assert_eq!(beside("docs/x.md", "../a/./y.md"), "a/y.md");
}
