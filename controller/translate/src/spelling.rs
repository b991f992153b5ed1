//! Names that people misspell.

/// The known name that `name` most likely stands for, if there is one.
pub(crate) fn nearest_name(
    known: impl Iterator<Item = &'static str>,
    name: &str,
) -> Option<&'static str> {
    /// From this Jaro-Winkler score on, people agree that it was a slip.
    const MIN_SCORE: f64 = 0.93;
    let scored = known.map(|known| (strsim::jaro_winkler(known, name), known));
    scored
        .filter(|(score, _)| *score >= MIN_SCORE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}
