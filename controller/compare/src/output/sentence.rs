//! Sentences that all reports share.

use crate::findings::{Findings, Found, SharesFound, Summary, Unjudged};

/// The sum in one line.
pub(super) fn summary(findings: &Findings) -> String {
    let Summary {
        same,
        same_shares,
        differs,
        documented,
        not_judged,
        requests,
    } = findings.summary();
    let documented = match documented {
        0 => String::new(),
        count => format!(" ({count} only as documented)"),
    };
    let by_shares = match same_shares {
        0 => String::new(),
        count => format!(" ({count} by shares)"),
    };
    let total = same + differs + not_judged;
    format!(
        "{}: {same} same{by_shares}, {differs} differ{documented}, {not_judged} not judged; {}",
        plural(total, "Ingress", "Ingresses"),
        plural(requests, "request compared", "requests compared"),
    )
}

/// `status: 200 -> 404`.
pub(super) fn how(found: &Found) -> String {
    format!("{}: {} -> {}", found.what, found.old, found.new)
}

/// `GET http://a/ and 3 more requests`.
pub(super) fn examples(examples: &[String], requests: usize) -> String {
    let named = examples.join(", ");
    match requests.saturating_sub(examples.len()) {
        0 => named,
        more if named.is_empty() => plural(more, "request", "requests"),
        more => format!(
            "{named} and {}",
            plural(more, "more request", "more requests")
        ),
    }
}

/// `shares of a and b (GET http://a/, 100 times)`, and below it each kind: `body 3 bytes: 80% (65% to 90%) -> 78% (62% to 88%)`. Those
/// that differ are listed as differences.
pub(super) fn shares(found: &SharesFound) -> Option<(String, Vec<String>)> {
    let kinds = found.kinds.iter().filter(|kind| !kind.differs());
    let kinds = kinds.map(|kind| format!("{}: {} -> {}", kind.what, kind.old, kind.new));
    let kinds: Vec<String> = kinds.collect();
    let backends = found.backends.join(" and ");
    let title = format!(
        "shares of {backends} ({}, {} times)",
        found.request, found.requests
    );
    (!kinds.is_empty()).then_some((title, kinds))
}

/// Legend of the brackets behind shares; `None` where there are no shares.
pub(super) fn legend(findings: &Findings) -> Option<&'static str> {
    let mut all = findings.ingresses.iter();
    all.any(|finding| !finding.shares.is_empty()).then_some(
        "In brackets: the 99.9% confidence interval of a share. Shares differ when chance does not explain the difference.",
    )
}

/// A reason, and what it is about.
pub(super) fn unjudged(unjudged: &Unjudged) -> String {
    match unjudged.requests {
        0 => unjudged.reason.clone(),
        count => format!(
            "{} ({})",
            unjudged.reason,
            examples(&unjudged.examples, count)
        ),
    }
}

pub(super) fn plural(count: usize, one: &str, more: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    }
}
