//! For a ticket.

use std::fmt::Write;

use super::sentence::{examples, how, legend, shares, summary, unjudged};
use crate::findings::{Finding, Findings};

pub(super) fn markdown(findings: &Findings) -> String {
    let mut text = format!("# Sluice compare\n\n{}\n", summary(findings));
    if let Some(failure) = &findings.failure {
        writeln!(text, "\n**Comparison failed: {}**", escaped(failure)).ok();
    }
    writeln!(
        text,
        "\n- old: {}\n- new: {}",
        escaped(&findings.old),
        escaped(&findings.new)
    )
    .ok();
    if !findings.ingresses.is_empty() {
        text += "\n| Ingress | verdict | requests | how |\n|---|---|---|---|\n";
    }
    for finding in &findings.ingresses {
        let name = escaped(&finding.subject.to_string());
        let (verdict, judged) = (finding.verdict.words(), finding.judged);
        writeln!(
            text,
            "| {name} | {verdict} | {judged} | {} |",
            cell(finding)
        )
        .ok();
    }
    if let Some(legend) = legend(findings) {
        writeln!(text, "\n{legend}").ok();
    }
    for left_out in &findings.left_out {
        writeln!(text, "\n{}", escaped(&unjudged(left_out))).ok();
    }
    text
}

fn cell(finding: &Finding) -> String {
    let mut lines = Vec::new();
    for found in &finding.differences {
        let requests = examples(&found.examples, found.requests);
        let mut line = escaped(&format!("{} ({requests})", how(found)));
        if let Some(known) = found.known {
            line += &format!(
                "<br>known: {} ([page]({}))",
                escaped(known.reason),
                known.page
            );
        }
        lines.push(line);
    }
    if finding.more_differences > 0 {
        lines.push(format!("and {} more differences", finding.more_differences));
    }
    for (title, kinds) in finding.shares.iter().filter_map(shares) {
        lines.push(escaped(&title));
        lines.extend(kinds.iter().map(|kind| escaped(kind)));
    }
    let reasons = finding.unjudged.iter();
    lines.extend(reasons.map(|reason| escaped(&format!("not judged: {}", unjudged(reason)))));
    let reports = finding.reports.iter();
    lines.extend(reports.map(|report| escaped(&format!("report: {report}"))));
    lines.join("<br>")
}

/// A text in which nothing is markup: every ASCII punctuation character may be escaped (CommonMark, 2.4), and GitHub's mentions and bare
/// URLs end at an entity.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.replace("://", "\u{0}").chars() {
        match c {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '@' => escaped += "&#64;",
            '\u{0}' => escaped += "&#58;//",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '#' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\n' | '\r' => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_of_a_text_is_markup() {
        for (text, expected) in [
            ("a|b\n![x](y)", "a\\|b \\!\\[x\\](y)"),
            ("<b> & @team", "&lt;b&gt; &amp; &#64;team"),
            ("`*_~", "\\`\\*\\_\\~"),
            ("http://a", "http&#58;//a"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}
