//! A golden case is a folder named by a sentence, and its input.

use std::fs;

use sluice_tests::artifacts::repository;

use crate::tree::relative;

#[test]
fn every_golden_case_has_its_input() {
    let Ok(cases) = fs::read_dir(repository().join("tests/golden")) else {
        return;
    };
    let folders = cases
        .flatten()
        .map(|case| case.path())
        .filter(|path| path.is_dir());
    let empty: Vec<String> = folders
        .filter(|case| !case.join("in.yaml").is_file())
        .map(|case| relative(&case))
        .collect();
    assert!(empty.is_empty(), "no in.yaml in:\n{}", empty.join("\n"));
}
