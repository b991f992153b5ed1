//! Doc comments begin with the name of the thing, or with a verb.

use crate::tree::{Source, sources};

const WORDS: [&str; 7] = ["What", "Who", "Where", "Whose", "Whom", "Which", "Whether"];

#[test]
fn doc_comments_name_the_thing() {
    let found: Vec<String> = sources("").iter().flat_map(questions).collect();
    assert!(
        found.is_empty(),
        "begin with the name of the thing or with a verb:\n{}",
        found.join("\n")
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
