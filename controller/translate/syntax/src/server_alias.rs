//! Other names of a host (`server-alias`): names, wildcards, and nginx's patterns (`~^(www|api)\.example\.com$`) as far as the names
//! are known that they take.

use sluice_ir::ServerName;
use sluice_pattern::{HostNames, Subject, host_names};

use crate::value;

/// More patterns than this are not read: each takes time.
pub const MAX_ALIAS_PATTERNS: usize = 16;

/// One entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasEntry<'t> {
    /// As it is written.
    pub text: &'t str,
    /// nginx tries it after all names and wildcards.
    pub is_pattern: bool,
    /// It also takes names with more than one label before a wildcard, which are not among these.
    pub takes_deeper_names: bool,
    /// Its names, or the expected.
    pub names: Result<Vec<ServerName>, String>,
}

/// Entries of the list, in order.
#[must_use]
pub fn alias_entries(text: &str) -> Vec<AliasEntry<'_>> {
    let mut patterns = 0;
    let entry = |text| match str::strip_prefix(text, "~") {
        Some(pattern) => {
            patterns += 1;
            of_pattern(text, pattern, patterns)
        }
        None => AliasEntry {
            text,
            is_pattern: false,
            takes_deeper_names: false,
            names: match ServerName::parse(text) {
                Ok(name) => Ok(vec![name]),
                Err(_) => Err("names of hosts, *. and a name, or ~ and a pattern".to_owned()),
            },
        },
    };
    value::list(text).into_iter().map(entry).collect()
}

fn of_pattern<'t>(text: &'t str, pattern: &str, number: usize) -> AliasEntry<'t> {
    let pattern = &*sluice_pattern::with_flags_in_groups(pattern);
    let names = if number > MAX_ALIAS_PATTERNS {
        Err(format!("at most {MAX_ALIAS_PATTERNS} patterns"))
    } else {
        sluice_pattern::check(&without_names(pattern), Subject::Text)
            .and_then(|_| host_names(pattern))
    };
    let is_deep = |names: &HostNames| matches!(names, HostNames::Labels(_));
    AliasEntry {
        text,
        is_pattern: true,
        takes_deeper_names: names.as_ref().is_ok_and(|names| names.iter().any(is_deep)),
        names: names.and_then(|names| servers(&names)),
    }
}

/// RE2 and PCRE write names of groups in different ways; nothing reads them here.
fn without_names(pattern: &str) -> String {
    let mut pieces = pattern.split("(?");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |mut text, piece| {
        let name = piece.strip_prefix("P<").or_else(|| piece.strip_prefix('<'));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match name.and_then(|rest| rest.trim_start_matches(is_name).strip_prefix('>')) {
            Some(rest) => text.extend(["(", rest]),
            None => text.extend(["(?", piece]),
        }
        text
    })
}

fn servers(names: &[HostNames]) -> Result<Vec<ServerName>, String> {
    let servers = names.iter().map(|names| match names {
        HostNames::Name(name) => ServerName::parse(name),
        HostNames::Label(suffix) | HostNames::Labels(suffix) => {
            ServerName::parse(&format!("*.{suffix}"))
        }
    });
    let servers: Result<Vec<_>, _> = servers.collect();
    let servers = servers.ok().filter(|servers| !servers.is_empty());
    servers.ok_or_else(|| "a pattern of names of hosts".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<Result<Vec<String>, String>> {
        let entries = alias_entries(text).into_iter();
        let names = entries.map(|entry| {
            let names = entry.names?;
            Ok(names.iter().map(ToString::to_string).collect())
        });
        names.collect()
    }

    #[test]
    fn a_pattern_is_the_names_that_it_takes() {
        let names = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(
            shown(r"A.test, *.b.test,~^(www|api)\.c\.test$ , ~^(?<a>.+)\.(?P<b_1>d)\.test$"),
            [
                names(&["a.test"]),
                names(&["*.b.test"]),
                names(&["www.c.test", "api.c.test"]),
                names(&["*.d.test"])
            ]
        );
        assert_eq!(
            shown(r"~(?i)^(WWW|api)\.c\.test$"),
            [names(&["www.c.test", "api.c.test"])]
        );
        let deeper = |text| alias_entries(text)[0].takes_deeper_names;
        assert!(deeper(r"~^.+\.d\.test$") && !deeper(r"~^[^.]+\.d\.test$"));
    }

    #[test]
    fn a_pattern_of_other_names_is_none() {
        for bad in [
            "~",
            "~a",
            "~^$",
            r"~^a_b\.test$",
            r"~^-\.test$",
            r"~^(?=a)a\.test$",
            r"~^\x{e9}\.test$",
            "~*^a$",
            r"~^(a)\1$",
            r"~^[a&&a]\.test$",
            r"~^(?<=a)a\.test$",
            "~^[^.]+$",
        ] {
            assert!(shown(bad)[0].is_err(), "{bad}: {:?}", shown(bad));
        }
        let many = vec![r"~^a\.test$"; MAX_ALIAS_PATTERNS + 1].join(",");
        let wrong = shown(&many).iter().filter(|names| names.is_err()).count();
        assert_eq!(wrong, 1);
    }
}
