//! Changes of headers in words: `Name: value`, and when.

use sluice_ir::{Comparison, Condition, Filter, HeaderModification, HeaderVariant, RequestTest};

/// Headers that a filter changes.
pub(crate) fn of_filter(filter: &Filter) -> Vec<String> {
    let (Filter::RequestHeaders(headers) | Filter::ResponseHeaders(headers)) = filter;
    changes(headers)
}

/// Headers of some responses.
pub(crate) fn of_variant(variant: &HeaderVariant) -> Vec<String> {
    let conditions: Vec<String> = variant.conditions.iter().map(condition).collect();
    let conditions = conditions.join(" and ");
    let changes = changes(&variant.headers).into_iter();
    changes
        .map(|change| format!("{change}, if {conditions}"))
        .collect()
}

/// In the order in which they are made.
fn changes(headers: &HeaderModification) -> Vec<String> {
    let hidden = headers.hide.iter();
    let hidden = hidden.map(|name| format!("{} of pods (removed)", name.as_str()));
    let mut changes: Vec<String> = hidden.collect();
    if let Some(expires) = headers.expires {
        let cache_control = expires.cache_control();
        changes.extend(cache_control.map(|value| format!("Cache-Control: {value}")));
        changes.extend(expires.date().map(|value| format!("Expires: {value}")));
    }
    for header in &headers.set {
        changes.push(match header.value.as_literal() {
            Some("") => format!("{} (removed)", header.name.as_str()),
            _ => format!("{}: {}", header.name.as_str(), header.value),
        });
    }
    let removed = headers.remove.iter();
    changes.extend(removed.map(|name| format!("{} (removed)", name.as_str())));
    for added in &headers.add {
        let header = &added.header;
        let unless = if added.unless_error {
            ", not with errors"
        } else {
            ""
        };
        let name = header.name.as_str();
        changes.push(format!("{name}: {} (added{unless})", header.value));
    }
    changes
}

/// As nginx writes it.
fn condition(Condition { test, negated }: &Condition) -> String {
    let (subject, comparison) = match test {
        RequestTest::Host(value) => ("$host".to_owned(), value),
        RequestTest::Path(value) => ("$uri".to_owned(), value),
        RequestTest::Query(value) => ("$args".to_owned(), value),
        RequestTest::RemoteAddress(value) => ("$remote_addr".to_owned(), value),
        RequestTest::Scheme(value) => ("$scheme".to_owned(), value),
        RequestTest::Method(value) => ("$request_method".to_owned(), value),
        RequestTest::RequestUri(value) => ("$request_uri".to_owned(), value),
        RequestTest::Argument { name, value } => (format!("$arg_{name}"), value),
        RequestTest::Header { name, value } => (format!("header {}", name.as_str()), value),
        RequestTest::Cookie { name, value } => {
            return format!("cookie {name} {} {value:?}", operator("=", *negated));
        }
    };
    let (sign, value) = match comparison {
        Comparison::Equals(value) => ("=", value),
        Comparison::Matches(value) => ("~", value),
        Comparison::MatchesIgnoreCase(value) => ("~*", value),
    };
    format!("{subject} {} {value:?}", operator(sign, *negated))
}

fn operator(sign: &str, negated: bool) -> String {
    let not = if negated { "!" } else { "" };
    format!("{not}{sign}")
}

#[cfg(test)]
mod tests {
    use sluice_ir::{AddedHeader, Expires, Expression, Header, HeaderName};

    use super::*;

    fn name(text: &str) -> HeaderName {
        HeaderName::parse(text).unwrap()
    }

    fn header(text: &str, value: &str) -> Header {
        Header {
            name: name(text),
            value: Expression::literal(value),
        }
    }

    #[test]
    fn headers_have_their_name_and_value_and_how_they_come() {
        let mut unless_error = AddedHeader::from(header("X-D", "e"));
        unless_error.unless_error = true;
        let headers = HeaderModification {
            set: vec![header("X-A", "b c"), header("X-E", "")],
            add: vec![header("X-D", "d").into(), unless_error],
            remove: vec![name("X-C")],
            hide: vec![name("X-F")],
            expires: Some(Expires::Seconds(60)),
        };
        assert_eq!(
            of_filter(&Filter::ResponseHeaders(headers)),
            [
                "X-F of pods (removed)",
                "Cache-Control: max-age=60",
                "X-A: b c",
                "X-E (removed)",
                "X-C (removed)",
                "X-D: d (added)",
                "X-D: e (added, not with errors)",
            ]
        );
    }

    #[test]
    fn conditions_of_headers_are_those_of_nginx() {
        let condition = |test, negated| Condition { test, negated };
        let variant = HeaderVariant {
            conditions: vec![
                condition(
                    RequestTest::Path(Comparison::MatchesIgnoreCase("[.]js$".to_owned())),
                    false,
                ),
                condition(
                    RequestTest::Cookie {
                        name: "a".to_owned(),
                        value: "b".to_owned(),
                    },
                    true,
                ),
                condition(
                    RequestTest::Header {
                        name: name("X-B"),
                        value: Comparison::Equals("c".to_owned()),
                    },
                    false,
                ),
            ],
            headers: HeaderModification {
                set: vec![header("X-A", "b")],
                ..HeaderModification::default()
            },
        };
        assert_eq!(
            of_variant(&variant),
            [r#"X-A: b, if $uri ~* "[.]js$" and cookie a != "b" and header X-B = "c""#]
        );
    }
}
