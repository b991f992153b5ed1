//! The sum in one line.

use crate::finding::{Summary, Verdict};

pub(super) fn sentence(summary: &Summary) -> String {
    let Summary {
        unchanged,
        differences,
        not_at_all,
        other_class,
        not_watched,
        closed,
        settings,
        unreadable,
        duplicates,
    } = *summary;
    let total = unchanged + differences + not_at_all + other_class + not_watched;
    let plural = if total == 1 { "" } else { "es" };
    let parts = [
        (unchanged, Verdict::Unchanged),
        (differences, Verdict::Differences),
        (not_at_all, Verdict::NotAtAll),
        (other_class, Verdict::OtherClass),
        (not_watched, Verdict::NotWatched),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {}", verdict.words_of(*count)))
        .collect();
    let mut text = format!("{total} Ingress{plural}");
    if !parts.is_empty() {
        text += ": ";
        text += &parts.join(", ");
    }
    if closed > 0 {
        text += &format!("; {closed} with closed paths (503)");
    }
    if settings > 0 {
        let plural = if settings == 1 { "" } else { "s" };
        text += &format!("; errors in {settings} other object{plural}");
    }
    if unreadable > 0 {
        text += &format!("; {unreadable} unreadable");
    }
    if duplicates > 0 {
        text += &format!("; {duplicates} not checked (same name as another)");
    }
    text
}
