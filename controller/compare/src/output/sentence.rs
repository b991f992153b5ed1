//! Sentences that all reports share.

use crate::findings::{Findings, Found, Summary, Unjudged};

/// The sum in one line.
pub(super) fn summary(findings: &Findings) -> String {
    let Summary {
        same,
        differs,
        documented,
        not_judged,
        requests,
    } = findings.summary();
    let documented = match documented {
        0 => String::new(),
        count => format!(" ({count} only as documented)"),
    };
    let total = same + differs + not_judged;
    format!(
        "{}: {same} same, {differs} differ{documented}, {not_judged} not judged; {}",
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

fn plural(count: usize, one: &str, more: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    }
}
