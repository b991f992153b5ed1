//! docs/security.md names the tests of each rule: all that are in tests/security, and none that is not there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use sluice_tests::artifacts::repository;

use crate::tree::sources;

const PAGE: &str = "docs/security.md";
const RULES: u8 = 15;

/// The tests that stand below the heading of each rule: name and file. Those above the first rule, or behind the last one's
/// section, are nobody's.
fn tests_by_rule(page: &str) -> BTreeMap<String, Vec<(String, String)>> {
    let mut rules: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut rule = String::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("##") {
            let heading = heading.trim_start_matches('#').trim();
            rule = heading
                .split_once(':')
                .map(|(rule, _)| rule.to_owned())
                .unwrap_or_default();
            continue;
        }
        for test in tests_of(line) {
            rules.entry(rule.clone()).or_default().push(test);
        }
    }
    rules
}

/// Each `` `name` (`path`) `` of a line.
fn tests_of(line: &str) -> Vec<(String, String)> {
    let parts: Vec<&str> = line.split('`').collect();
    let is_test = |window: &&[&str]| window[1] == " (" && window[3].starts_with(')');
    let named = |window: &[&str]| (window[0].to_owned(), window[2].to_owned());
    parts
        .windows(4)
        .skip(1)
        .step_by(2)
        .filter(is_test)
        .map(named)
        .collect()
}

#[test]
fn every_rule_has_tests_and_every_test_that_is_named_is_there() {
    let page = fs::read_to_string(repository().join(PAGE)).unwrap();
    let rules = tests_by_rule(&page);
    let without: Vec<String> = (1..=RULES)
        .map(|rule| format!("R{rule}"))
        .filter(|rule| !rules.contains_key(rule))
        .collect();
    assert!(without.is_empty(), "{PAGE} names no test of {without:?}");
    let is_there = |(name, path): &&(String, String)| {
        let text = fs::read_to_string(repository().join(path)).unwrap_or_default();
        text.contains(&format!("fn {name}("))
    };
    let missing: Vec<_> = rules
        .values()
        .flatten()
        .filter(|test| !is_there(test))
        .collect();
    assert!(
        missing.is_empty(),
        "{PAGE} names tests that are not there; say what holds the rule now: {missing:#?}"
    );
}

/// The rule that a file of tests/security is called after.
fn rule_of(path: &str) -> Option<String> {
    let digits = path.strip_prefix("tests/security/r")?.split_once('_')?.0;
    digits
        .parse()
        .ok()
        .filter(|number: &u8| digits.len() == 2 && *number > 0)
        .map(|number| format!("R{number}"))
}

/// The names of the tests of a file, those of every plane among them.
fn tests_in(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for part in text.split("on_every_plane!(").skip(1) {
        let list = part.split(");").next().unwrap_or_default().split(',');
        names.extend(
            list.filter_map(|item| item.split_whitespace().last())
                .map(str::to_owned),
        );
    }
    for mark in ["#[test]", "#[tokio::test"] {
        let behind = text
            .split(mark)
            .skip(1)
            .filter_map(|part| part.split_once("fn ")?.1.split('(').next());
        names.extend(behind.map(str::to_owned));
    }
    names
}

#[test]
fn every_test_of_the_rules_stands_once_and_under_its_rule() {
    let rules = tests_by_rule(&fs::read_to_string(repository().join(PAGE)).unwrap());
    let mut wrong = Vec::new();
    for source in sources("tests/security") {
        let Some(rule) = rule_of(&source.path) else {
            // The macro makes tests where it is used.
            if source.path != "tests/security/setup.rs" && !tests_in(&source.text).is_empty() {
                wrong.push(format!(
                    "{} has tests, and is called after no rule",
                    source.path
                ));
            }
            continue;
        };
        for name in tests_in(&source.text) {
            let test = (name, source.path.clone());
            let below =
                |tests: &[(String, String)]| tests.iter().filter(|other| **other == test).count();
            let all: usize = rules.values().map(|tests| below(tests)).sum();
            if (all, rules.get(&rule).map_or(0, |tests| below(tests))) != (1, 1) {
                wrong.push(format!("{rule}: - `{}` (`{}`)", test.0, test.1));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{PAGE} does not name each of these once, under its rule:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_kind_of_test_is_found() {
    let text = "on_every_plane!(a, #[cfg(b)] c);\non_every_plane!(\n    d,\n    e,\n);\n#[test]\nfn f() {}\n\
                #[tokio::test(flavor = \"x\")]\nasync fn g() {}\nfn h() {}\n";
    let names: Vec<String> = tests_in(text).into_iter().collect();
    assert_eq!(names, ["a", "c", "d", "e", "f", "g"]);
    assert_eq!(
        rule_of("tests/security/r06_access_control/mod.rs").as_deref(),
        Some("R6")
    );
    assert_eq!(rule_of("tests/security/setup.rs"), None);
}

#[test]
fn a_test_is_a_name_and_a_file_in_the_section_of_its_rule() {
    let page = "`a` (`x.rs`)\n### R1: One\n- `b` (`y.rs`) and `c`, `d` (`z/y.rs`)\n## Other\n`e` (`w.rs`)\n";
    let test = |name: &str, path: &str| (name.to_owned(), path.to_owned());
    let rules = tests_by_rule(page);
    assert_eq!(rules["R1"], [test("b", "y.rs"), test("d", "z/y.rs")]);
    assert_eq!(rules[""], [test("a", "x.rs"), test("e", "w.rs")]);
}
