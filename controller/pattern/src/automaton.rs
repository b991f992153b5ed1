//! Cost of a pattern while it runs: the states that it can be in.
//!
//! RE2 makes them as it meets them, and keeps them: a byte then costs one step. Of a pattern with too many (`[ab]*a[ab]{150}`: which
//! of the last 150 were an `a`?) it keeps beginning anew, and then tries each of its instructions for each byte: 60 ns each, so
//! that one request of 55 KB to 24 such paths held a worker of Envoy up for 17 seconds.

use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

use crate::Subject;

/// Bytes of all states and their transitions, of a path of an Ingress: there may be thousands, and each is measured up to here.
pub const MOST_STATE_BYTES: usize = 96 << 10;
/// The same of any other pattern: lists of names are longer.
pub const MOST_STATE_BYTES_OF_TEXTS: usize = 256 << 10;

/// The limit of a pattern for this subject.
pub(crate) fn most(subject: Subject) -> usize {
    match subject {
        Subject::Path => MOST_STATE_BYTES,
        Subject::InPath | Subject::InPathInAnyCase | Subject::Text | Subject::TextInAnyCase => {
            MOST_STATE_BYTES_OF_TEXTS
        }
    }
}

/// The bytes of all states, if they are not too many; `written` is what RE2 gets.
pub(crate) fn bytes(written: &str, subject: Subject) -> Result<usize, String> {
    let most = most(subject);
    let limits = dense::Config::new()
        .start_kind(StartKind::Anchored)
        .dfa_size_limit(Some(most))
        .determinize_size_limit(Some(most));
    // Bytes: patterns are ASCII, and an encoded path is, too.
    let built = dense::Builder::new()
        .configure(limits)
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .thompson(thompson::Config::new().utf8(false))
        .build(written);
    let bytes = built.map(|automaton| automaton.memory_usage());
    bytes.map_err(|_| {
        format!(
            "one with states of more than {} KiB, as counted repetitions behind `*` and `+` have them",
            most >> 10
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_served(pattern: &str, subject: Subject) -> bool {
        crate::check(pattern, subject).is_ok()
    }

    #[test]
    fn patterns_that_people_write_have_few_states() {
        for pattern in [
            "/(.*)",
            "/api(/|$)(.*)",
            "/v[0-9]+/(users|orders)/[0-9]+/(detail|list)(/.*)?$",
            "/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/",
            "/[a-z0-9-]{1,63}/[a-z0-9-]{1,63}/x",
            "/(.*)/(.*)/(.*)/(.*)x",
            "/.*-[0-9]{8}",
            "/.*[0-9]{4}/.*[0-9]{2}",
            "/.*/(en|de|fr)-[a-z]{2}/[a-z]{1,30}",
            "/[ab]*a[ab]{6}",
            "/.{1,64}/x",
        ] {
            assert!(is_served(pattern, Subject::Path), "{pattern}");
        }
        let agents = "googlebot|bingbot|yandex|baiduspider|twitterbot|facebookexternalhit|rogerbot|linkedinbot|embedly|quora link preview|showyoubot|outbrain|pinterest|slackbot|vkShare|W3C_Validator";
        assert!(is_served(agents, Subject::TextInAnyCase));
        assert!(is_served(
            r"\.(js|css|png|jpe?g|gif|svg|ico|woff2?|ttf|eot|map)$",
            Subject::Text
        ));
    }

    /// Twice as many states for each repetition more.
    #[test]
    fn patterns_that_remember_what_was_long_ago_are_refused() {
        for times in [12, 20, 50, 100, 150] {
            for pattern in [
                format!("/[ab]*a[ab]{{{times}}}"),
                format!("/(x|y)*x(x|y){{{times}}}z"),
                format!("/.*a.{{{times}}}"),
                format!("/.*a{}", ".".repeat(times)),
            ] {
                let reason = crate::check(&pattern, Subject::Path);
                assert!(reason.is_err(), "{pattern}");
            }
            for subject in [Subject::Text, Subject::TextInAnyCase] {
                let pattern = format!("(a|b)*a(a|b){{{}}}cd", times + 4);
                assert!(crate::check(&pattern, subject).is_err(), "{pattern}");
            }
        }
    }
}
