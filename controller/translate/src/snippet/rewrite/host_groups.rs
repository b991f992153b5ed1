//! `return` with `$1` of a condition on the host: where the hosts are known, so are the groups.
//!
//! ```text
//!   if ($host ~ ^(.+)\.old\.test$) { return 301 https://$1.new.test$request_uri; }    with the hosts a.old.test and b.old.test
//!     $host = a.old.test: 301 https://a.new.test$request_uri
//!     $host = b.old.test: 301 https://b.new.test$request_uri
//!     any other that matches: 503
//! ```

use regex_lite::RegexBuilder;
use sluice_ir::{Comparison, Condition, Hostname, RequestTest};

use crate::snippet::syntax::substitution::{Substitution, group_number, has_group};

/// Groups of a condition on the host.
#[derive(Clone, Debug)]
pub(super) struct HostGroups {
    condition: Condition,
    /// Of each host that it holds for, from `$1` on.
    of_hosts: Vec<(Condition, Vec<String>)>,
}

impl HostGroups {
    /// Reads the only condition of a block. `None`: it has no groups, or there may be hosts that are not known.
    pub(in crate::snippet) fn new(
        ways: &[Vec<Condition>],
        hosts: Option<&[Hostname]>,
    ) -> Option<Self> {
        let [way] = ways else { return None };
        let [condition] = way.as_slice() else {
            return None;
        };
        let RequestTest::Host(comparison) = &condition.test else {
            return None;
        };
        let (pattern, in_any_case) = match comparison {
            Comparison::Equals(_) => return None,
            Comparison::Matches(pattern) => (pattern, false),
            Comparison::MatchesIgnoreCase(pattern) => (pattern, true),
        };
        if sluice_pattern::has_groups_of_empty_repetitions(pattern) {
            return None;
        }
        let mut builder = RegexBuilder::new(pattern);
        let regex = builder.case_insensitive(in_any_case).build().ok()?;
        if condition.negated || regex.captures_len() < 2 {
            return None;
        }
        let groups = |host: &Hostname| {
            let found = regex.captures(host.as_str())?;
            let all = (1..found.len()).map(|n| found.get(n).map_or("", |group| group.as_str()));
            Some((is(host), all.map(str::to_owned).collect()))
        };
        Some(HostGroups {
            condition: condition.clone(),
            of_hosts: hosts?.iter().filter_map(groups).collect(),
        })
    }

    /// True if there are groups, and not all hosts are known.
    pub(super) fn lacks_hosts(ways: &[Vec<Condition>], hosts: Option<&[Hostname]>) -> bool {
        hosts.is_none() && HostGroups::new(ways, Some(&[])).is_some()
    }

    /// The words with the groups of each host, and its condition in place of that of all. `None`: they have no groups of it.
    pub(in crate::snippet) fn written(
        &self,
        words: &[&str],
    ) -> Option<Vec<(Condition, Vec<String>)>> {
        let has_groups = |word: &&&str| has_group(word);
        words.iter().find(has_groups)?;
        let of_host = |(host, groups): &(Condition, Vec<String>)| {
            let words = words.iter().map(|word| with_groups(word, groups));
            Some((host.clone(), words.collect::<Option<_>>()?))
        };
        self.of_hosts.iter().map(of_host).collect()
    }

    /// Conditions of all other hosts that the pattern matches.
    pub(in crate::snippet) fn others(&self) -> Vec<Condition> {
        let known = self.of_hosts.iter().map(|(host, _)| Condition {
            negated: true,
            ..host.clone()
        });
        std::iter::once(self.condition.clone())
            .chain(known)
            .collect()
    }

    /// The condition that holds for all of them.
    pub(in crate::snippet) fn condition(&self) -> &Condition {
        &self.condition
    }
}

fn is(host: &Hostname) -> Condition {
    Condition {
        test: RequestTest::Host(Comparison::Equals(host.as_str().to_owned())),
        negated: false,
    }
}

/// A text with groups in place of `$1` to `$9`; `None`: there is no such group, or it would get into the name of a variable.
fn with_groups(text: &str, groups: &[String]) -> Option<String> {
    let mut pieces = text.split('$');
    let mut written = Substitution::default();
    written.push(pieces.next()?);
    for piece in pieces {
        match group_number(piece) {
            Some(_) if written.is_within_braces() => return None,
            Some(number) => {
                written.push(groups.get(number - 1)?);
                written.push(piece.get(1..)?);
            }
            None if piece.is_empty() => return None,
            None => written.push_behind_dollar(piece),
        }
    }
    Some(written.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pattern: &str, host: &str, text: &str) -> Option<String> {
        let condition = Condition {
            test: RequestTest::Host(Comparison::Matches(pattern.to_owned())),
            negated: false,
        };
        let hosts = [Hostname::parse(host).unwrap()];
        let groups = HostGroups::new(&[vec![condition]], Some(&hosts))?;
        let all = groups.written(&[text])?;
        all.into_iter().next().map(|(_, words)| words.concat())
    }

    #[test]
    fn groups_are_those_of_the_host() {
        for (pattern, text, expected) in [
            (
                r"^(\w+)\.(.*)$",
                "https://$1.new.test",
                "https://shop.new.test",
            ),
            (r"^(\w+)\.(.*)$", "https://$2/$1", "https://old.test/shop"),
            (r"^(a)?shop", "https://b.test/$1$1x", "https://b.test/x"),
            (r"(o)(l)d", "/$10", "/o0"),
            (r"(o)", "/$request_uri$1", "/${request_uri}o"),
            (r"(o)(x)?", "/$request_uri$2$1", "/${request_uri}o"),
            (r"(o)(x)?", "/$request_uri$2-$1", "/$request_uri-o"),
            (r"(o)(x)?", "/$request_uri$2b", "/${request_uri}b"),
            (r"(o)", "/$1$request_uri", "/o$request_uri"),
            (r"(o)", "/${host}$1", "/${host}o"),
        ] {
            let found = written(pattern, "shop.old.test", text);
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn groups_that_engines_disagree_about_are_not_served() {
        for pattern in [
            "^(a*)*b",
            "^(a|b|)*",
            "^(a*?)+b",
            "^(?:(a)?)*b",
            "(x?)?",
            "((a|)b?){2}",
        ] {
            assert_eq!(written(pattern, "aaab.test", "/$1"), None, "{pattern}");
        }
        for pattern in ["^(a+)*b", "^(a*)b", "^(?:a*)*(b)", "^(a)?", "^((a)|b)*"] {
            assert!(written(pattern, "aaab.test", "/$1").is_some(), "{pattern}");
        }
    }

    #[test]
    fn a_dollar_makes_no_variable_with_what_a_group_holds() {
        for text in [
            "/$$1",
            "/$1$",
            "/$3",
            "/$0",
            "/a",
            "/$host",
            "/${$1ost}",
            "/${ho$2}",
        ] {
            assert_eq!(written("(h)(o)", "shop.test", text), None, "{text}");
        }
        assert_eq!(written("x(h)", "shop.test", "/$1"), None);
    }
}
