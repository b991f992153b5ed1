//! Headers of requests to pods that our module writes as one text: for nginx each would be a script of its own.
//!
//! The text is the value of the first of them. The others are there without a value, which keeps those of clients away.

use sluice_ir::GlobalConfig;

use crate::conf::Text;
use crate::location::headers;
use crate::settings::Settings;

/// It always has a value, so the text is always sent.
const FIRST: &str = "X-Real-IP";
/// The text.
const JOINED: &str = "sluice_request_headers";

/// A header and its value.
type Header = (String, Text);

/// Headers of the text, the first one first; none where Kong's host runs the filter.
pub(crate) fn lines(global: &GlobalConfig, settings: &Settings) -> Vec<headers::Line> {
    headers::lines(of_engine(global, settings))
}

fn of_engine(global: &GlobalConfig, settings: &Settings) -> Vec<Header> {
    match settings.engine.is_kongs() {
        true => Vec::new(),
        false => headers(global),
    }
}

/// None also where the operator says otherwise about the first one.
fn headers(global: &GlobalConfig) -> Vec<Header> {
    let sent = headers::texts_for_upstream(global, Vec::new());
    // A request begins with `Host`, and not every request has one.
    let is_joined = |header: &Header| header.0 != "Host" && header.1 != Text::default();
    let usual = headers::defaults(global).filter(|header| is_joined(header));
    let mut joined: Vec<Header> = usual.filter(|header| sent.contains(header)).collect();
    let Some(first) = joined.iter().position(|(name, _)| name == FIRST) else {
        return Vec::new();
    };
    joined[..=first].rotate_right(1);
    joined
}

/// Request headers to pods over HTTP/1, joined where our module is there to do it.
pub(crate) fn for_pods(
    global: &GlobalConfig,
    own: Vec<Header>,
    settings: &Settings,
) -> Vec<headers::Line> {
    let sent = headers::texts_for_upstream(global, own);
    headers::lines(join(sent, &of_engine(global, settings)))
}

/// With the text in place of its headers, if all of them are sent.
fn join(mut sent: Vec<Header>, joined: &[Header]) -> Vec<Header> {
    if joined.iter().all(|header| sent.contains(header)) {
        for header in &mut sent {
            if joined.contains(header) {
                header.1 = match header.0.as_str() {
                    FIRST => Text::default().variable(JOINED),
                    _ => Text::default(),
                };
            }
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use sluice_ir::{Expression, Header as Of, HeaderName};

    use super::*;

    fn sent(global: &GlobalConfig, own: Vec<Header>) -> Vec<Header> {
        join(headers::texts_for_upstream(global, own), &headers(global))
    }

    fn value<'a>(sent: &'a [Header], name: &str) -> &'a Text {
        &sent.iter().find(|header| header.0 == name).unwrap().1
    }

    #[test]
    fn what_is_joined_is_named_without_a_value_and_nothing_is_lost() {
        let global = GlobalConfig::default();
        let (all, sent) = (
            headers::texts_for_upstream(&global, Vec::new()),
            sent(&global, Vec::new()),
        );
        let names = |headers: &[Header]| headers.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&all), names(&sent));
        assert_eq!(value(&sent, FIRST), &Text::default().variable(JOINED));
        let joined = headers(&global);
        assert_eq!(joined[0].0, FIRST);
        for (before, after) in all.iter().zip(&sent) {
            let is_joined = joined.contains(before);
            let is_as_before = before == after;
            assert_ne!(is_joined, is_as_before, "{before:?}");
        }
    }

    #[test]
    fn a_location_that_says_otherwise_about_one_has_all_of_them_itself() {
        let global = GlobalConfig::default();
        let own = || vec![("Connection".to_owned(), Text::default().then("close"))];
        assert_eq!(
            sent(&global, own()),
            headers::texts_for_upstream(&global, own())
        );
        let other = vec![("X-Own".to_owned(), Text::default().then("1"))];
        assert_eq!(
            value(&sent(&global, other), FIRST),
            &Text::default().variable(JOINED)
        );
    }

    #[test]
    fn what_the_operator_sets_is_not_in_the_text() {
        let header = |name: &str| Of {
            name: HeaderName::parse(name).unwrap(),
            value: Expression::literal("mine"),
        };
        let global = |name| GlobalConfig {
            request_headers: vec![header(name)],
            ..GlobalConfig::default()
        };
        let scheme = headers(&global("x-scheme"));
        assert!(!scheme.is_empty() && scheme.iter().all(|it| it.0 != "X-Scheme"));
        assert_eq!(headers(&global("x-real-ip")), []);
        let sent = sent(&global("x-real-ip"), Vec::new());
        assert!(
            sent.iter()
                .all(|it| it.1 != Text::default().variable(JOINED))
        );
    }
}
