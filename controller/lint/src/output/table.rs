//! For a terminal: an Ingress a line, its remarks below it, the sum at the end.

use std::fmt::Write;

use sluice_source::Location;
use sluice_syntax::printable;

use super::paint::Paint;
use super::place;
use crate::finding::{Finding, Findings, severity};
use crate::remark::Remark;

pub(super) fn table(findings: &Findings, paint: Paint) -> String {
    let mut text = String::new();
    let names = findings.ingresses.iter();
    let widths = names.map(|finding| finding.ingress.to_string().chars().count());
    let width = widths.max().unwrap_or_default();
    for finding in &findings.settings {
        let at = in_brackets(finding.location.as_ref(), paint);
        writeln!(text, "{}{at}", finding.object).ok();
        lines(&finding.remarks, paint, &mut text);
    }
    for finding in &findings.ingresses {
        writeln!(
            text,
            "{:width$}  {}{}",
            finding.ingress.to_string(),
            paint.verdict(finding.verdict, &words(finding)),
            in_brackets(finding.location.as_ref(), paint)
        )
        .ok();
        lines(&finding.remarks, paint, &mut text);
    }
    for problem in &findings.documents {
        let severity = paint.severity(severity(problem), 0);
        writeln!(text, "{severity}: {}", printable(&problem.to_string())).ok();
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &findings.sum() + "\n"
}

/// The verdict, and whether clients get 503.
pub(super) fn words(finding: &Finding) -> String {
    let closed = if finding.closed {
        "; paths answer 503"
    } else {
        ""
    };
    format!("{}{closed}", finding.verdict.words())
}

fn in_brackets(location: Option<&Location>, paint: Paint) -> String {
    let place = location.map(|location| paint.place(&format!("({})", place(location))));
    place.map_or_else(String::new, |place| format!("  {place}"))
}

fn lines(remarks: &[Remark], paint: Paint, text: &mut String) {
    for remark in remarks {
        let severity = paint.severity(remark.severity, 8);
        let location = remark.location.as_ref();
        let at = location.map(|at| paint.place(&format!("{}: ", place(at))));
        let at = at.unwrap_or_default();
        writeln!(text, "  {severity} {at}{}: {}", remark.field, remark.text).ok();
    }
}
