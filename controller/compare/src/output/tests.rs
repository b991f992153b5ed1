//! Reports of hostile texts, and their exit codes.

use std::collections::BTreeMap;

use super::*;
use crate::facts::Aspect;
use crate::findings::{FailOn, Tally, Verdict};
use crate::judge::{Difference, Judgement};
use crate::known::Known;
use crate::shares::{Kind, Proportion};
use crate::site::Context;
use crate::subject::Subject;
use crate::text::printable;

const HOSTILE: &str =
    "</td><script>alert(1)</script> \u{1b}[2J\r\n| a | b |\u{202e} `x` ![x](http://evil/)";

fn difference(known: Option<Known>) -> Judgement {
    let difference = Difference {
        aspect: Aspect::Header(printable(HOSTILE)),
        old: printable(HOSTILE),
        new: "none".to_owned(),
        known,
    };
    Judgement {
        differences: vec![difference],
        ..Judgement::default()
    }
}

/// The same, by shares.
fn shared() -> Judgement {
    let proportion = Proportion { count: 20, of: 100 };
    Judgement {
        shares: vec![Kind {
            what: printable(HOSTILE),
            old: proportion,
            new: proportion,
        }],
        ..Judgement::default()
    }
}

fn findings(judgements: &[(&str, Judgement)]) -> Findings {
    let mut tally = Tally::default();
    for (name, judgement) in judgements {
        let context = Context {
            subject: Subject::Ingress((*name).to_owned()),
            shared_by: vec![HOSTILE.to_owned(), "b".to_owned()],
            ..Context::unknown("a.b")
        };
        tally.add(
            &context,
            &printable(&format!("GET http://a.b/{HOSTILE}")),
            judgement.clone(),
        );
    }
    tally.expect(&Subject::Host(HOSTILE.to_owned()));
    tally.expect(&Subject::Host("long".repeat(20_000)));
    Findings {
        old: "http://old:80".to_owned(),
        new: "http://new:80".to_owned(),
        ingresses: tally.findings(&BTreeMap::new(), &|_| vec!["annotation x: y".to_owned()]),
        left_out: Vec::new(),
        failure: None,
    }
}

#[test]
fn hostile_texts_are_texts_in_every_report() {
    let findings = findings(&[
        ("a/differs", difference(None)),
        ("a/same", Judgement::default()),
        ("a/shares", shared()),
    ]);
    for output in [Output::Table, Output::Json, Output::Markdown, Output::Html] {
        let text = write(&findings, output, false);
        assert!(
            !text.contains(['\u{1b}', '\r', '\u{202e}']),
            "{output:?}: {text}"
        );
        assert!(text.contains("a/differs"), "{output:?}: {text}");
    }
    // A long name makes no other line long.
    let table = write(&findings, Output::Table, false);
    assert!(table.lines().all(|line| line.len() < 400), "{table}");
    let html = write(&findings, Output::Html, false);
    assert!(
        !html.contains("<script") && html.matches("</td>").count() == html.matches("<td").count()
    );
    let markdown = write(&findings, Output::Markdown, false);
    assert!(
        !markdown.contains("<script") && !markdown.contains("![x]"),
        "{markdown}"
    );
    // One row for each, and every row has its columns.
    let rows = markdown.lines().filter(|line| line.starts_with('|'));
    for row in rows {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&write(&findings, Output::Json, false)).unwrap();
    assert_eq!(json["summary"]["differs"], 1);
    assert_eq!(json["ingresses"][0]["verdict"], "differs");
    assert_eq!(json["ingresses"][2]["verdict"], "same_shares");
    assert_eq!(json["ingresses"][2]["shares"][0]["kinds"][0]["old"], 20);
    assert!(table.contains("a/shares") && table.contains("same shares (1 request)"));
    assert!(
        table.contains("20% (10% to 36%) -> 20% (10% to 36%)"),
        "{table}"
    );
    assert!(table.contains("2 same (1 by shares), 1 differ"), "{table}");
    for text in [&table, &html, &markdown] {
        assert_eq!(
            text.matches("99.9% confidence interval").count(),
            1,
            "{text}"
        );
    }
}

#[test]
fn a_table_is_read_from_left_to_right() {
    let known = Known {
        reason: "on purpose",
        page: "docs/differences.md#on-purpose",
    };
    let difference = Difference {
        aspect: Aspect::Status,
        old: "200".to_owned(),
        new: "503".to_owned(),
        known: Some(known),
    };
    let judgement = Judgement {
        differences: vec![difference],
        ..Judgement::default()
    };
    let findings = findings(&[("a/b", judgement), ("shop/web", Judgement::default())]);
    let table = write(&findings, Output::Table, false);
    let expected = "\
a/b                                                                                             differs (1 request)
  status: 200 -> 503";
    assert!(
        table.starts_with("old http://old:80\nnew http://new:80\n\n"),
        "{table}"
    );
    let squeezed: Vec<&str> = expected.split_whitespace().collect();
    let words: Vec<&str> = table
        .split_whitespace()
        .skip(4)
        .take(squeezed.len())
        .collect();
    assert_eq!(words, squeezed);
    assert!(
        table.contains("    known: on purpose (docs/differences.md#on-purpose)\n"),
        "{table}"
    );
    assert!(table.contains("  report: annotation x: y\n"), "{table}");
    let sum =
        "4 Ingresses: 1 same, 1 differ (1 only as documented), 2 not judged; 2 requests compared\n";
    assert!(table.ends_with(sum), "{table}");
    assert!(write(&findings, Output::Table, true).contains("\u{1b}[1m\u{1b}[31mdiffers\u{1b}[0m"));
}

#[test]
fn a_comparison_fails_by_what_it_found() {
    let known = Known {
        reason: "on purpose",
        page: "docs/differences.md",
    };
    let same = findings(&[("a/b", Judgement::default())]);
    let documented = findings(&[("a/b", difference(Some(known)))]);
    let other = findings(&[("a/b", difference(None))]);
    for (on, fails) in [
        (FailOn::Any, [false, true, true]),
        (FailOn::Undocumented, [false, false, true]),
        (FailOn::Never, [false, false, false]),
    ] {
        let found = [&same, &documented, &other].map(|findings| findings.fail(on));
        assert_eq!(found, fails, "{on:?}");
    }
    assert_eq!(same.ingresses[0].verdict, Verdict::Same);
    assert_eq!(same.ingresses[1].verdict, Verdict::NotJudged);
}

#[test]
fn a_subject_that_has_no_requests_says_why() {
    let subject = Subject::Ingress("shop/canary".to_owned());
    let mut plan = crate::plan::Plan::default();
    plan.expect_without_requests(subject.clone(), crate::plan::reasons::CANARY);
    let mut tally = Tally::default();
    tally.expect(&subject);
    let findings = Findings {
        ingresses: tally.findings(&plan.subjects, &|_| Vec::new()),
        ..findings(&[])
    };
    let table = write(&findings, Output::Table, false);
    let expected = "\
shop/canary  not judged (0 requests)
  not judged: a canary, whose requests count to its main Ingress
";
    assert!(table.contains(expected), "{table}");
}
