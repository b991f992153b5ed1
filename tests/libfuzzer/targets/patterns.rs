//! Regular expressions of tenants. What is let through is a regular expression in the way that it is written for either engine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_filter_core::{BacktrackingShape, MOST_MATCHING, Pattern};
use sluice_pattern::{
    Subject, check, in_common_words, literal, literal_prefix, matches_empty,
    of_text_without_lookaround, pcre, re2, re2_condition, re2_first, without_lookaround,
    without_possessives,
};

/// Without what tells PCRE how to compare.
fn without_verbs(mut written: &str) -> &str {
    while let Some((_, rest)) = written
        .strip_prefix("(*")
        .and_then(|rest| rest.split_once(')'))
    {
        written = rest;
    }
    written
}

fuzz_target!(|pattern: &str| {
    for subject in [
        Subject::Path,
        Subject::InPath,
        Subject::InPathInAnyCase,
        Subject::Text,
        Subject::TextInAnyCase,
    ] {
        let Ok(shape) = check(pattern, subject) else {
            continue;
        };
        for written in [
            re2(pattern, subject, shape.alternatives),
            re2_first(pattern, subject, shape.alternatives),
            pcre(pattern, subject, shape.alternatives),
        ] {
            let parsed = regex_syntax::ast::parse::Parser::new().parse(without_verbs(&written));
            assert!(
                parsed.is_ok(),
                "{pattern:?} is written as {written:?}: {parsed:?}"
            );
            // A class of an encoded path has many ranges.
            assert!(written.len() < 256 * (pattern.len() + 1), "{written:?}");
        }
    }
    // What backtracks has as many groups as it says, and the steps of anything come to an end.
    if let Ok(BacktrackingShape { groups, .. }) = BacktrackingShape::of(pattern, true) {
        let compiled = Pattern::backtracking(pattern, true).expect("it is one");
        let mut budget = MOST_MATCHING / 64;
        if let Ok(Some(found)) = compiled.captures(pattern.as_bytes(), &mut budget) {
            assert!(found.get(groups.saturating_add(1)).is_empty());
        }
    }
    assert!(literal_prefix(pattern).len() <= pattern.len() + 1);
    assert!(literal(pattern).is_none_or(|text| text.len() <= pattern.len()));
    let _ = matches_empty(pattern);
    let common = in_common_words(pattern);
    assert_eq!(in_common_words(&common), common);
    // What is taken as it is has them already.
    assert!(check(pattern, Subject::Path).is_err() || common == pattern);
    assert!(without_possessives(pattern).len() <= pattern.len());
    if let Some(found) = of_text_without_lookaround(pattern) {
        assert_eq!(check(&found.pattern, Subject::Text), Ok(found.shape));
        let mut conditions = found.conditions.iter();
        assert!(conditions.all(|it| check(&it.pattern, Subject::Text).is_ok()));
    }
    if let Some(found) = without_lookaround(pattern) {
        let shape = check(&found.pattern, Subject::Path).expect("it is served");
        assert_eq!(shape.groups, found.shape.groups);
        assert_eq!(shape.alternatives, found.shape.alternatives);
        // That of its conditions as well.
        assert!(shape.cost <= found.shape.cost);
        for condition in &found.conditions {
            let shape = check(&condition.pattern, Subject::Path);
            assert!(shape.is_ok_and(|shape| shape.groups == 0 && !shape.alternatives));
            assert!(re2_condition(&condition.pattern).is_some());
        }
    }
});
