//! For a terminal: an Ingress a line, its differences below it, the sum at the end.

use std::fmt::Write;

use super::paint::Paint;
use super::sentence::{examples, how, legend, plural, shares, summary, unjudged};
use crate::findings::{Finding, Findings};

pub(super) fn table(findings: &Findings, paint: Paint) -> String {
    let mut text = format!("old {}\nnew {}\n\n", findings.old, findings.new);
    let names = findings.ingresses.iter();
    let widths = names.map(|finding| finding.subject.to_string().chars().count());
    let width = widths.max().unwrap_or_default();
    for finding in &findings.ingresses {
        let (name, verdict) = (finding.subject.to_string(), paint.verdict(finding.verdict));
        let judged = plural(finding.judged, "request", "requests");
        let judged = paint.dimmed(&format!("({judged})"));
        writeln!(text, "{name:width$}  {verdict} {judged}").ok();
        lines(finding, paint, &mut text);
    }
    for left_out in &findings.left_out {
        writeln!(text, "{}", unjudged(left_out)).ok();
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    if let Some(legend) = legend(findings) {
        writeln!(text, "{legend}").ok();
    }
    writeln!(text, "{}", summary(findings)).ok();
    if let Some(failure) = &findings.failure {
        writeln!(text, "nothing is known: {failure}").ok();
    }
    text
}

fn lines(finding: &Finding, paint: Paint, text: &mut String) {
    for found in &finding.differences {
        writeln!(text, "  {}", how(found)).ok();
        let requests = examples(&found.examples, found.requests);
        writeln!(text, "    {}", paint.dimmed(&requests)).ok();
        if let Some(known) = found.known {
            writeln!(text, "    known: {} ({})", known.reason, known.page).ok();
        }
    }
    if finding.more_differences > 0 {
        writeln!(text, "  and {} more differences", finding.more_differences).ok();
    }
    for (title, kinds) in finding.shares.iter().filter_map(shares) {
        writeln!(text, "  {title}").ok();
        for kind in kinds {
            writeln!(text, "    {kind}").ok();
        }
    }
    for reason in &finding.unjudged {
        writeln!(text, "  not judged: {}", unjudged(reason)).ok();
    }
    for report in &finding.reports {
        writeln!(text, "  report: {report}").ok();
    }
}
