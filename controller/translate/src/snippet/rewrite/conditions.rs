//! Conditions of `if`.

use sluice_ir::{
    Comparison, Condition, ExpressionPart, HeaderName, Hostname, RequestTest, SENT_HEADERS,
    Variable,
};
use sluice_pattern::{Subject, TargetPart};
use sluice_syntax::expression;

use super::comparable::Comparable;
use crate::snippet::headers::reserved::{is_about_clients, is_reserved_in_requests};

/// Bytes of a text that is compared.
const MAX_TEXT: usize = 1000;

/// Bytes of a path that is compared: encoded it may be three times as long, and Envoy limits the program of a pattern.
const MAX_PATH: usize = 300;
/// Bytes of the name of a cookie or of a parameter, of which a pattern is made.
const MAX_NAME: usize = 40;
/// Bytes of a cookie's value, as well.
const MAX_COOKIE: usize = 500;

/// The condition of an `if`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::snippet) enum If {
    /// Of a part of the request. It holds where all conditions of one list of `holds` do, and fails where all of one list of `fails` do.
    Request {
        holds: Vec<Vec<Condition>>,
        fails: Vec<Vec<Condition>>,
    },
    /// A variable of the snippet's own.
    Variable { name: String, test: VariableTest },
}

/// Comparison of a variable of the snippet's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::snippet) struct VariableTest {
    /// `None`: it is neither empty nor `0`.
    equals: Option<String>,
    negated: bool,
}

impl VariableTest {
    pub(in crate::snippet) fn holds(&self, value: &str) -> bool {
        let is_so = match &self.equals {
            Some(text) => value == text,
            None => !matches!(value, "" | "0"),
        };
        is_so != self.negated
    }
}

/// Reads the words after `if`. `is_set_variable`: the snippet has set this variable, whose name is in lower case.
pub(in crate::snippet) fn read(
    words: &[&str],
    is_set_variable: impl Fn(&str) -> bool,
    comparable: Comparable,
) -> Option<If> {
    let words = without_brackets(words)?;
    let (variable, operation) = words.split_first()?;
    let variable = variable.strip_prefix('$')?;
    let name = variable.to_ascii_lowercase();
    if is_set_variable(&name) {
        let (equals, negated) = match operation {
            [] => (None, false),
            ["=", text] => (Some(literal(text)?), false),
            ["!=", text] => (Some(literal(text)?), true),
            _ => return None,
        };
        return Some(If::Variable {
            name,
            test: VariableTest { equals, negated },
        });
    }
    let (comparison, negated) = match operation {
        [] => return is_set(variable, comparable),
        ["=", text] => (Comparison::Equals(literal(text)?), false),
        ["!=", text] => (Comparison::Equals(literal(text)?), true),
        ["~", pattern] => (matches(pattern)?, false),
        ["!~", pattern] => (matches(pattern)?, true),
        ["~*", pattern] => (matches_in_any_case(pattern)?, false),
        ["!~*", pattern] => (matches_in_any_case(pattern)?, true),
        _ => return None,
    };
    let test = test(variable, comparison, comparable)?;
    if negated && matches!(test, RequestTest::RequestUri(_)) && !comparable.received_target {
        return None;
    }
    let condition = |negated| {
        let test = test.clone();
        vec![vec![Condition { test, negated }]]
    };
    Some(If::Request {
        holds: condition(negated),
        fails: condition(!negated),
    })
}

/// `if ($uri ~ PATTERN)`
pub(super) fn of_path(pattern: &str, comparable: Comparable) -> Option<Condition> {
    let test = test("uri", matches(pattern)?, comparable)?;
    Some(Condition {
        test,
        negated: false,
    })
}

/// `if ($http_a)`: it is neither empty nor `0`.
fn is_set(variable: &str, comparable: Comparable) -> Option<If> {
    let equals = |text: &str| test(variable, Comparison::Equals(text.to_owned()), comparable);
    let tests = [equals("")?, equals("0")?];
    let condition = |test: &RequestTest, negated| Condition {
        test: test.clone(),
        negated,
    };
    Some(If::Request {
        holds: vec![tests.iter().map(|test| condition(test, true)).collect()],
        fails: tests
            .iter()
            .map(|test| vec![condition(test, false)])
            .collect(),
    })
}

/// nginx takes the brackets alone and as parts of words.
pub(super) fn without_brackets<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut words = words.to_vec();
    let first = words.first_mut()?;
    *first = first.strip_prefix('(')?;
    let last = words.last_mut()?;
    *last = last.strip_suffix(')')?;
    if words.first().is_some_and(|first| first.is_empty()) {
        words.remove(0);
    }
    if words.last().is_some_and(|last| last.is_empty()) {
        words.pop();
    }
    Some(words)
}

/// A text without variables.
pub(in crate::snippet) fn literal(text: &str) -> Option<String> {
    let is_plain = !text.contains('$') && !text.chars().any(char::is_control);
    (is_plain && text.len() <= MAX_TEXT).then(|| text.to_owned())
}

fn matches(pattern: &str) -> Option<Comparison> {
    if let Some(pattern) = sluice_pattern::behind_any_case(pattern) {
        return matches_in_any_case(pattern);
    }
    sluice_pattern::check(pattern, Subject::Text).ok()?;
    Some(Comparison::Matches(pattern.to_owned()))
}

fn matches_in_any_case(pattern: &str) -> Option<Comparison> {
    let pattern = sluice_pattern::behind_any_case(pattern).unwrap_or(pattern);
    sluice_pattern::check(pattern, Subject::TextInAnyCase).ok()?;
    Some(Comparison::MatchesIgnoreCase(pattern.to_owned()))
}

/// Comparison of a variable that every data plane can compare so.
fn test(variable: &str, comparison: Comparison, comparable: Comparable) -> Option<RequestTest> {
    // nginx has the host with its port, as the client wrote it, and the address in bytes.
    let others = ["http_host", "binary_remote_addr", "proxy_protocol_addr"];
    if others.contains(&variable.to_ascii_lowercase().as_str()) {
        return None;
    }
    if ["args", "query_string"].contains(&variable.to_ascii_lowercase().as_str()) {
        let is_known = comparable.compares(TargetPart::Query, &comparison);
        return is_known.then_some(RequestTest::Query(comparison));
    }
    let known = expression::parse(&format!("${{{variable}}}")).ok()?;
    let [ExpressionPart::Variable(variable)] = known.0.as_slice() else {
        return None;
    };
    Some(match (variable, comparison) {
        // nginx has it in lower case.
        (Variable::Hostname, comparison)
            if is_host(&comparison) && comparable.compares(TargetPart::Host, &comparison) =>
        {
            RequestTest::Host(comparison)
        }
        (Variable::Path, Comparison::Equals(path)) => {
            let is_known = is_normalised(&path) && path.len() <= MAX_PATH;
            is_known.then_some(RequestTest::Path(Comparison::Equals(path)))?
        }
        (Variable::Path, comparison) if comparable.compares(TargetPart::Path, &comparison) => {
            RequestTest::Path(comparison)
        }
        (Variable::Argument(name), value)
            if name.len() <= MAX_NAME
                && comparable.compares(TargetPart::Argument(name), &value) =>
        {
            let name = name.clone();
            RequestTest::Argument { name, value }
        }
        (Variable::Cookie(name), Comparison::Equals(value))
            if name.len() <= MAX_NAME && value.len() <= MAX_COOKIE =>
        {
            let name = name.clone();
            RequestTest::Cookie { name, value }
        }
        (Variable::RemoteAddress, comparison) if comparable.client_address => {
            RequestTest::RemoteAddress(comparison)
        }
        (Variable::Scheme, comparison) if comparable.scheme => RequestTest::Scheme(comparison),
        (Variable::Method, comparison) => RequestTest::Method(comparison),
        (Variable::RequestUri, comparison)
            if comparable.received_target || means_the_same_normalised(&comparison) =>
        {
            RequestTest::RequestUri(comparison)
        }
        (Variable::Header(name), value) => header_test(name, value, comparable)?,
        _ => return None,
    })
}

fn header_test(name: &str, value: Comparison, comparable: Comparable) -> Option<RequestTest> {
    let name = HeaderName::parse(name).ok()?;
    let is_kept = || SENT_HEADERS.iter().any(|kept| name.is_alike(kept));
    let is_received = is_about_clients(&name) && (comparable.received_headers || is_kept());
    let is_known = !name.is_alike("cookie") || comparable.compares_cookies(&value);
    let is_readable = is_known && (is_received || !is_reserved_in_requests(&name));
    (comparable.headers && is_readable).then_some(RequestTest::Header { name, value })
}

/// True of a text if it is how nginx writes a host, and of all patterns.
fn is_host(comparison: &Comparison) -> bool {
    match comparison {
        Comparison::Equals(text) => Hostname::parse(text).is_ok_and(|name| name.as_str() == text),
        Comparison::Matches(_) | Comparison::MatchesIgnoreCase(_) => true,
    }
}

/// True if it is how nginx writes a path in `$uri`: one with double slashes or dot segments is none.
fn is_normalised(path: &str) -> bool {
    path.starts_with('/')
        && !path.contains("//")
        && !path.split('/').any(|segment| matches!(segment, "." | ".."))
}

/// True of a comparison that the normalised target does not get around: a client that is kept out by the target as it was received, and
/// could get anything by it, is kept out by the normalised one, too. So it is with a text that targets begin with, and in which nothing is
/// encoded or normalised. The opposite does not hold.
fn means_the_same_normalised(comparison: &Comparison) -> bool {
    let text = match comparison {
        Comparison::Equals(text) => Some(text.clone()),
        Comparison::Matches(pattern) | Comparison::MatchesIgnoreCase(pattern) => {
            pattern.strip_prefix('^').and_then(beginning)
        }
    };
    text.is_some_and(|text| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_".contains(&byte);
        is_normalised(&text) && text.bytes().all(is_plain)
    })
}

/// The text that a pattern takes, whatever follows: `/old/(.*)$`.
fn beginning(pattern: &str) -> Option<String> {
    let whole = pattern.strip_suffix('$').unwrap_or(pattern);
    let mut rests = [("(/.*)", "/"), ("(.*)", ""), (".*", "")].into_iter();
    let text = rests.find_map(|(rest, of_text)| Some((whole.strip_suffix(rest)?, of_text)));
    let (text, of_text) = text.unwrap_or((pattern, ""));
    sluice_pattern::literal(text).map(|text| text + of_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVOY: Comparable = Comparable {
        received_target: false,
        headers: false,
        received_headers: false,
        client_address: false,
        joined_cookies: false,
        target_parts: false,
        scheme: false,
    };

    fn is_comparable(condition: &str) -> bool {
        let words: Vec<_> = condition.split(' ').collect();
        read(&words, |_| false, ENVOY).is_some()
    }

    #[test]
    fn what_is_normalised_is_compared_where_that_makes_no_difference() {
        for good in [
            "($request_uri = /a/b)",
            "($request_uri ~ ^/old)",
            "($request_uri ~* ^/a-b/)",
            "($request_uri ~ ^/a/(.*)$)",
            "($request_uri ~ ^/a(/.*))",
            "($uri ~ \\.php$)",
            "($host ~ ^www\\.)",
            "($host !~* ^(WWW|api)\\.(.+)$)",
            "($uri !~* ^/(a|b)/.)",
            "($args !~ (^|&)a=)",
            "($query_string = a=b)",
            "($arg_a ~ ^b$)",
            "($arg_a != b)",
            "($request_method ~ ^GET$)",
        ] {
            assert!(is_comparable(good), "{good}");
        }
        for bad in [
            "($request_uri ~ \\.\\.)",
            "($request_uri ~* %2f)",
            "($request_uri ~ ^/a$)",
            "($request_uri !~ ^/a)",
            "($request_uri ~ ^/a/(.*)x)",
            "($request_uri ~ ^/a(/.*)?)",
            "($uri ~ \\ba)",
            "($args ~ a(^b)?)",
            "($request_uri ~ ^/a/(b|c))",
            "($request_uri ~ /a)",
            "($request_uri = /a//b)",
            "($request_uri = /a?b)",
            "($request_uri = /%61)",
            "($http_a = b)",
            "($scheme = http)",
        ] {
            assert!(!is_comparable(bad), "{bad}");
        }
    }

    #[test]
    fn a_flag_at_the_beginning_of_a_pattern_is_that_of_its_operator() {
        const VARIABLES: &str = "$host $uri $request_uri $args $arg_a $http_user_agent $scheme";
        let patterns = || "^/old ^/a/(.*)$ a|b (b)ot".split(' ');
        let variables = VARIABLES.split(' ');
        let all = variables.flat_map(|variable| patterns().map(move |pattern| (variable, pattern)));
        for (variable, pattern) in all {
            for comparable in [ENVOY, Comparable::ALL] {
                let read = |operator: &str, pattern: &str| {
                    let words = [&*format!("({variable}"), operator, &*format!("{pattern})")];
                    read(&words, |_| false, comparable)
                };
                for (operator, in_any_case) in
                    [("~", "~*"), ("~*", "~*"), ("!~", "!~*"), ("!~*", "!~*")]
                {
                    let flagged = read(operator, &format!("(?i){pattern}"));
                    assert_eq!(flagged, read(in_any_case, pattern), "{variable} {pattern}");
                    assert_eq!(read(operator, &format!("a(?i){pattern}")), None);
                }
            }
        }
    }

    #[test]
    fn headers_about_the_client_are_compared_where_they_stay_as_they_came() {
        let read_by = |variable: &str, received_headers| {
            let comparable = Comparable {
                received_headers,
                ..Comparable::ALL
            };
            let variable = format!("({variable}");
            read(&[&variable, "=", "http)"], |_| false, comparable).is_some()
        };
        for (variable, is_kept) in [
            ("$http_x_forwarded_proto", true),
            ("$http_x_forwarded_port", true),
            ("$http_x_forwarded_host", true),
            ("$http_x_forwarded_for", true),
            ("$http_x_forwarded_client_cert", false),
            ("$http_x_original_forwarded_for", false),
            ("$http_ssl_client_verify", false),
        ] {
            assert!(read_by(variable, true), "{variable}");
            assert_eq!(read_by(variable, false), is_kept, "{variable}");
        }
        let of_sluice = ["($http_x_request_id", "=", "a)"];
        assert!(read(&of_sluice, |_| false, Comparable::ALL).is_none());
    }
}
