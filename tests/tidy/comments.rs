//! Doc comments begin with the name of the thing, or with a verb.

use std::collections::BTreeMap;

use crate::tree::{Source, sources};

/// Doc comments by folder that still begin with one of [`WORDS`]. A number here only ever becomes smaller.
const KNOWN: &[(&str, usize)] = &[
    ("tests/cases", 1),
    ("tests/cluster", 8),
    ("tests/docs.rs", 1),
    ("tests/e2e", 16),
    ("tests/filter_wasm", 6),
    ("tests/fuzz", 8),
    ("tests/lint.rs", 1),
    ("tests/nginx", 18),
    ("tests/packaging", 8),
    ("tests/security", 43),
    ("tests/src", 248),
    ("xtask/src", 9),
];

const WORDS: [&str; 7] = ["What", "Who", "Where", "Whose", "Whom", "Which", "Whether"];

#[test]
fn doc_comments_name_the_thing() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources("") {
        let folder: Vec<&str> = source.path.split('/').take(2).collect();
        found
            .entry(folder.join("/"))
            .or_default()
            .extend(questions(&source));
    }
    let known: BTreeMap<&str, usize> = KNOWN.iter().copied().collect();
    let mut wrong = Vec::new();
    for (folder, lines) in &found {
        let known = known.get(folder.as_str()).copied().unwrap_or(0);
        if lines.len() > known {
            let lines = lines.join("\n");
            wrong.push(format!("{folder}: expected at most {known}, got\n{lines}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "begin with the name of the thing or with a verb:\n{}",
        wrong.join("\n")
    );
}

/// Doc comments that begin like a question; those that go on in a second line are counted once.
fn questions(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_first = true;
    for (number, line) in source.text.lines().enumerate() {
        let text = line.trim_start();
        let comment = text
            .strip_prefix("/// ")
            .or_else(|| text.strip_prefix("//! "));
        let word = comment.and_then(|comment| comment.split_whitespace().next());
        if is_first && word.is_some_and(|word| WORDS.contains(&word)) {
            found.push(format!("{}:{}: {text}", source.path, number + 1));
        }
        is_first = !(text.starts_with("///") || text.starts_with("//!"));
    }
    found
}

#[test]
fn only_the_beginning_of_a_comment_counts() {
    let source = Source {
        path: "a/b.rs".to_owned(),
        text: "/// Who goes there.\nfn a() {}\n/// A place\n/// Where they go.\n//! What.\n"
            .to_owned(),
    };
    assert_eq!(questions(&source), ["a/b.rs:1: /// Who goes there."]);
}
