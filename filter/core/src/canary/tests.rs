use sluice_filter_config::{HeaderMatch, HeaderPattern, HeaderRule, Share};

use super::*;
use crate::SplitMix64;
use crate::testing::FakeRequest;

fn canary() -> wire::Canary {
    wire::Canary {
        backend: "n/canary/80".into(),
        ..wire::Canary::default()
    }
}

fn weight(weight: u32, total: u32) -> Option<Share> {
    Some(Share { weight, total })
}

fn header(values: HeaderMatch) -> Option<HeaderRule> {
    Some(HeaderRule {
        name: "X-Canary".into(),
        values,
    })
}

fn chosen(canaries: &[wire::Canary], request: &FakeRequest) -> Option<usize> {
    let canaries = Canary::from_routes(canaries);
    choose(&canaries, |_| true, request, &mut SplitMix64(1))
}

fn takes(canary: wire::Canary, request: &FakeRequest) -> bool {
    chosen(&[canary], request) == Some(0)
}

fn ask(value: &str) -> FakeRequest {
    FakeRequest::default().with("x-canary", value)
}

fn part(canaries: &[wire::Canary], requests: usize) -> Vec<usize> {
    let canaries = Canary::from_routes(canaries);
    let mut hits = vec![0; canaries.len()];
    let rng = &mut SplitMix64(1);
    for _ in 0..requests {
        if let Some(n) = choose(&canaries, |_| true, &FakeRequest::default(), rng) {
            hits[n] += 1;
        }
    }
    hits
}

#[test]
fn without_rules_nobody_goes_there() {
    assert!(!takes(canary(), &ask("always")));
}

#[test]
fn the_header_decides_before_the_cookie_and_the_cookie_before_the_weight() {
    let all = || wire::Canary {
        header: header(HeaderMatch::Switch),
        cookie: Some("c".into()),
        weight: weight(100, 100),
        ..canary()
    };
    assert!(!takes(all(), &ask("never").with("cookie", "c=always")));
    assert!(takes(
        wire::Canary {
            weight: None,
            ..all()
        },
        &ask("always").with("cookie", "c=never")
    ));
    assert!(!takes(all(), &ask("other").with("cookie", "c=never")));
    assert!(takes(all(), &ask("other").with("cookie", "c=other")));
    assert!(takes(
        wire::Canary {
            weight: None,
            ..all()
        },
        &FakeRequest::default().with("cookie", "a=b; c=always")
    ));
}

#[test]
fn a_header_value_makes_always_and_never_ordinary() {
    let exact = || wire::Canary {
        header: header(HeaderMatch::Exact("foo".into())),
        ..canary()
    };
    assert!(takes(exact(), &ask("foo")));
    assert!(!takes(exact(), &ask("always")));
    assert!(takes(
        wire::Canary {
            weight: weight(100, 100),
            ..exact()
        },
        &ask("never")
    ));
}

#[test]
fn a_pattern_is_searched_and_a_broken_one_keeps_the_primary() {
    let pattern = |text: &str| wire::Canary {
        header: header(HeaderMatch::Pattern(text.into())),
        weight: weight(0, 100),
        ..canary()
    };
    assert!(takes(pattern("^(eu|us)-.*$"), &ask("eu-west")));
    assert!(takes(pattern("u-w"), &ask("eu-west")), "unanchored");
    assert!(!takes(pattern("EU"), &ask("eu-west")), "case-sensitive");
    let broken = || wire::Canary {
        weight: weight(100, 100),
        ..pattern("(")
    };
    let invalid = || wire::Canary {
        header: header(HeaderMatch::Invalid),
        ..broken()
    };
    let rules: [&dyn Fn() -> wire::Canary; 2] = [&broken, &invalid];
    for rule in rules {
        assert!(!takes(rule(), &ask("eu")), "the weight is not asked");
        assert!(
            takes(rule(), &FakeRequest::default()),
            "without the header it is"
        );
    }
}

fn patterns(all: &[(&str, bool)]) -> wire::Canary {
    let all = all.iter().map(|(pattern, negated)| HeaderPattern {
        pattern: (*pattern).to_owned(),
        negated: *negated,
    });
    wire::Canary {
        header: header(HeaderMatch::Patterns(all.collect())),
        ..canary()
    }
}

#[test]
fn of_several_patterns_all_have_to_hold() {
    let rule = || patterns(&[("^.*$", false), ("^beta$", true), ("eu", false)]);
    for (value, holds) in [
        ("eu", true),
        ("beta", false),
        ("beta-eu", true),
        ("us", false),
        ("", false),
    ] {
        assert_eq!(takes(rule(), &ask(value)), holds, "{value}");
    }
    assert!(takes(patterns(&[("^beta$", true)]), &ask("")), "not there");
    for broken in [
        patterns(&[("a", false), ("(", true)]),
        // Each of them is small enough.
        patterns(&[("(a{20}){10}", true); 8]),
    ] {
        let broken = wire::Canary {
            weight: weight(100, 100),
            ..broken
        };
        assert!(!takes(broken.clone(), &ask("a")), "{broken:?}");
    }
}

#[test]
fn header_names_know_neither_case_nor_hyphens() {
    let rule = HeaderRule {
        name: "X_CaNary".into(),
        values: HeaderMatch::Switch,
    };
    assert!(takes(
        wire::Canary {
            header: Some(rule),
            ..canary()
        },
        &ask("always")
    ));
}

#[test]
fn weights_are_shares_of_their_total_and_small_totals_are_a_hundred() {
    let by = |w, total| {
        part(
            &[wire::Canary {
                weight: weight(w, total),
                ..canary()
            }],
            10_000,
        )[0]
    };
    assert_eq!(
        [by(0, 100), by(100, 100), by(1000, 1000), by(250, 100)],
        [0, 10_000, 10_000, 10_000]
    );
    assert!((2_700..3_300).contains(&by(30, 100)));
    assert!((30..70).contains(&by(5, 1000)));
    assert!(
        (900..1_100).contains(&by(10, 50)),
        "a total of 50 counts as 100"
    );
}

#[test]
fn several_canaries_have_their_own_shares() {
    let with = |w| wire::Canary {
        weight: weight(w, 100),
        ..canary()
    };
    let hits = part(&[with(20), with(30)], 10_000);
    assert!(
        (1_850..2_150).contains(&hits[0]) && (2_800..3_200).contains(&hits[1]),
        "{hits:?}"
    );
}

#[test]
fn a_rule_of_a_later_canary_decides_before_the_weight_of_an_earlier_one() {
    let first = wire::Canary {
        weight: weight(100, 100),
        ..canary()
    };
    let second = wire::Canary {
        header: header(HeaderMatch::Switch),
        ..canary()
    };
    assert_eq!(
        chosen(&[first.clone(), second.clone()], &ask("always")),
        Some(1)
    );
    assert_eq!(
        chosen(&[first.clone(), second], &ask("never")),
        Some(0),
        "never takes out only its own canary"
    );
    let same = wire::Canary {
        header: header(HeaderMatch::Switch),
        ..first
    };
    assert_eq!(chosen(&[same.clone(), same], &ask("never")), None);
}

#[test]
fn a_canary_that_is_not_there_leaves_its_share_to_the_primary() {
    let with = |w| wire::Canary {
        weight: weight(w, 100),
        ..canary()
    };
    let canaries = Canary::from_routes(&[with(100), with(0)]);
    assert_eq!(
        choose(
            &canaries,
            |n| n != 0,
            &FakeRequest::default(),
            &mut SplitMix64(1)
        ),
        None
    );
}

#[test]
fn a_value_that_is_too_long_for_its_pattern_is_no_match() {
    /// For the smallest programs.
    const LONGEST: usize = wire::MOST_MATCHING / (wire::LARGEST_PATTERN / 16);
    let pattern = |text: &str| wire::Canary {
        header: header(HeaderMatch::Pattern(text.into())),
        ..canary()
    };
    let small = pattern("^a+$");
    assert!(takes(small.clone(), &ask(&"a".repeat(LONGEST))));
    assert!(!takes(small.clone(), &ask(&"a".repeat(LONGEST + 1))));
    // So do the patterns of one.
    let both = patterns(&[("^a+$", false), ("^b+$", true)]);
    assert!(takes(both.clone(), &ask(&"a".repeat(LONGEST / 2))));
    assert!(!takes(both, &ask(&"a".repeat(LONGEST / 2 + 1))));
    // Canaries of one route share what there is.
    let two = [pattern("^b+$"), small];
    assert_eq!(chosen(&two, &ask(&"a".repeat(LONGEST / 2))), Some(1));
    assert_eq!(chosen(&two, &ask(&"a".repeat(LONGEST / 2 + 1))), None);
    // One that is too large is none that can be compiled.
    let large = wire::Canary {
        weight: weight(100, 100),
        ..pattern("(a{50}){50}")
    };
    assert!(!takes(large, &ask("a")));
}
