//! A self-contained page, without scripts. Everything in it is escaped by the template's engine.

use askama::Template;

use super::sentence::{examples, how, legend, shares, summary, unjudged};
use crate::findings::{Findings, Verdict};

#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    summary: String,
    failure: Option<String>,
    old: String,
    new: String,
    rows: Vec<Row>,
    legend: Option<&'static str>,
    left_out: Vec<String>,
}

struct Row {
    name: String,
    class: &'static str,
    verdict: &'static str,
    judged: usize,
    differences: Vec<Line>,
    notes: Vec<String>,
}

struct Line {
    how: String,
    requests: String,
    known: Option<String>,
}

pub(super) fn html(findings: &Findings) -> String {
    let rows = findings.ingresses.iter().map(|finding| {
        let differences = finding.differences.iter().map(|found| Line {
            how: how(found),
            requests: examples(&found.examples, found.requests),
            known: found.known.map(|it| format!("{} ({})", it.reason, it.page)),
        });
        let more = finding.more_differences;
        let more = (more > 0).then(|| format!("and {more} more differences"));
        let reasons = finding.unjudged.iter();
        let reasons = reasons.map(|reason| format!("not judged: {}", unjudged(reason)));
        let reports = finding.reports.iter();
        let reports = reports.map(|report| format!("report: {report}"));
        Row {
            name: finding.subject.to_string(),
            class: class(finding.verdict),
            verdict: finding.verdict.words(),
            judged: finding.judged,
            differences: differences.collect(),
            notes: more
                .into_iter()
                .chain(
                    finding
                        .shares
                        .iter()
                        .filter_map(shares)
                        .flat_map(|(title, kinds)| std::iter::once(title).chain(kinds)),
                )
                .chain(reasons)
                .chain(reports)
                .collect(),
        }
    });
    let page = Page {
        summary: summary(findings),
        failure: findings.failure.clone(),
        old: findings.old.clone(),
        new: findings.new.clone(),
        rows: rows.collect(),
        legend: legend(findings),
        left_out: findings.left_out.iter().map(unjudged).collect(),
    };
    // A String takes everything.
    page.render().unwrap_or_default()
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same | Verdict::SameShares => "same",
        Verdict::Differs => "differs",
        Verdict::NotJudged => "unjudged",
    }
}
