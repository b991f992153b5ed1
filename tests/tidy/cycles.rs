//! Modules of a crate need each other in one direction: whoever reads one of them has not to read all.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{Source, sources};

/// How many modules of a crate still need each other in a circle. A number here only ever becomes smaller.
const KNOWN: &[(&str, usize)] = &[];

/// Modules below the root of a crate, and which of the others each one names.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_need_each_other_in_one_direction() {
    let all = sources("");
    let roots = all
        .iter()
        .filter_map(|source| source.path.strip_suffix("/src/lib.rs"));
    let mut wrong = Vec::new();
    for root in roots {
        let circles: BTreeSet<String> = circles(&graph(&all, &format!("{root}/src/")));
        let known = KNOWN
            .iter()
            .find(|(name, _)| *name == root)
            .map_or(0, |(_, known)| *known);
        if circles.len() != known {
            wrong.push(format!(
                "{root}: {known} modules were in circles, {} are: {circles:?}",
                circles.len()
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "move what both need to where both may look:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_circle_is_seen_through_lists_and_what_the_root_says_again() {
    let source = |path: &str, text: &str| Source {
        path: format!("x/src/{path}"),
        text: text.to_owned(),
    };
    let all = [
        source(
            "lib.rs",
            "mod a;\nmod b;\nmod c;\nmod d;\npub use b::{B, More};\n",
        ),
        source(
            "a.rs",
            "use crate::{More, d::D};\n#[cfg(test)]\nmod tests { use crate::c; }\n",
        ),
        source("b/mod.rs", "mod inner;\n"),
        source(
            "b/inner.rs",
            "// crate::d\nfn f() { super::super::c::g() }\n",
        ),
        source("c.rs", "pub(crate) fn g(a: &crate::a::A) {}\n"),
        source("d.rs", "use std::fmt;\n"),
    ];
    assert_eq!(
        circles(&graph(&all, "x/src/"))
            .into_iter()
            .collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
}

/// The module that a line of a root declares.
fn module(line: &str) -> Option<String> {
    let (_, name) = line.trim().rsplit_once("mod ")?;
    name.strip_suffix(';').map(str::to_owned)
}

fn graph(all: &[Source], root: &str) -> Graph {
    let of_crate = || all.iter().filter(|source| source.path.starts_with(root));
    let Some(lib) = of_crate().find(|source| source.path.strip_prefix(root) == Some("lib.rs"))
    else {
        return Graph::new();
    };
    let lib = code(lib);
    let modules: BTreeSet<String> = lib.lines().filter_map(module).collect();
    // A name that the root has from a module stands for that module.
    let mut homes: BTreeMap<String, String> = modules
        .iter()
        .map(|name| (name.clone(), name.clone()))
        .collect();
    for path in uses(&lib) {
        if let (Some(module), Some(name)) = (path.first(), path.last())
            && modules.contains(module)
        {
            homes.insert(name.clone(), module.clone());
        }
    }
    let mut graph = Graph::new();
    for source in of_crate() {
        let within = source.path.strip_prefix(root).unwrap_or_default();
        let within: Vec<&str> = within.split('/').collect();
        let name = |part: &str| part.trim_end_matches(".rs").to_owned();
        let module = within.first().copied().map(name).unwrap_or_default();
        let is_test = within.iter().any(|part| name(part) == "tests");
        if !modules.contains(&module) || is_test {
            continue;
        }
        let text = code(source);
        let depth = within.len() - usize::from(within.last() == Some(&"mod.rs"));
        let named = uses(&text)
            .into_iter()
            .chain(paths(&text))
            .filter_map(|path| {
                let up = path.iter().take_while(|part| *part == "super").count();
                let at_root = path.first().is_some_and(|part| part == "crate");
                let rest = if at_root { 1 } else { up };
                (at_root || up == depth)
                    .then(|| homes.get(path.get(rest)?))
                    .flatten()
                    .cloned()
            });
        graph
            .entry(module.clone())
            .or_default()
            .extend(named.filter(|named| *named != module));
    }
    graph
}

/// Without comments and without tests.
fn code(source: &Source) -> String {
    let text: Vec<&str> = source.code().map(|(_, line)| line).collect();
    let text = text.join("\n");
    text.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The paths of all `use`s, each by itself.
fn uses(text: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for item in text.split(';') {
        let Some(start) = item
            .rfind("use ")
            .filter(|at| *at == 0 || !item[..*at].ends_with(char::is_alphanumeric))
        else {
            continue;
        };
        spread(&[], item[start + 4..].trim(), &mut all);
    }
    all
}

fn spread(before: &[String], tree: &str, all: &mut Vec<Vec<String>>) {
    let (path, list) = match tree.split_once('{') {
        Some((path, list)) => (path, Some(list.trim_end().trim_end_matches('}'))),
        None => (tree.split(" as ").next().unwrap_or_default(), None),
    };
    let parts = path
        .split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned);
    let here: Vec<String> = before.iter().cloned().chain(parts).collect();
    let Some(list) = list else {
        return all.push(here);
    };
    let (mut depth, mut item) = (0, String::new());
    for letter in list.chars().chain([',']) {
        match letter {
            ',' if depth == 0 => spread(&here, std::mem::take(&mut item).trim(), all),
            _ => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                item.push(letter);
            }
        }
    }
}

/// The paths in the code that begin with `crate` or `super`.
fn paths(text: &str) -> Vec<Vec<String>> {
    let words =
        text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':'));
    let begins = |word: &&str| {
        ["crate::", "super::"]
            .iter()
            .any(|begin| word.starts_with(begin))
    };
    words
        .filter(begins)
        .map(|word| word.split("::").map(str::to_owned).collect())
        .collect()
}

/// The modules that lead back to themselves.
fn circles(graph: &Graph) -> BTreeSet<String> {
    let leads_back = |module: &&String| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![*module]);
        while let Some(now) = next.pop() {
            for needed in graph.get(now).into_iter().flatten() {
                if needed == *module {
                    return true;
                }
                if seen.insert(needed) {
                    next.push(needed);
                }
            }
        }
        false
    };
    graph.keys().filter(leads_back).cloned().collect()
}
