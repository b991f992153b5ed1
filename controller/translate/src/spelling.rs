//! Names that people misspell.

/// The known name that `name` most likely stands for, if there is one.
pub(crate) fn nearest_name(
    known: impl Iterator<Item = &'static str>,
    name: &str,
) -> Option<&'static str> {
    /// From this Jaro-Winkler score on, people agree that it was a slip.
    const MIN_SCORE: f64 = 0.93;
    /// Of names of fewer letters, one letter makes another word.
    const LONG: usize = 6;
    // One slip of a finger is one wherever it is; the score takes a wrong first letter for another word.
    let is_one_slip = |known: &str| known.len() >= LONG && strsim::osa_distance(known, name) == 1;
    let scored = known.map(|known| (is_one_slip(known), strsim::jaro_winkler(known, name), known));
    scored
        .filter(|(is_slip, score, _)| *is_slip || *score >= MIN_SCORE)
        .max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
        .map(|(_, _, known)| known)
}
