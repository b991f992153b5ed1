//! Texts with `$1` in them.

use sluice_ir::{Template, TemplatePart};

use crate::value::{Expected, Parsed};
use crate::variables::{Segment, segments};

/// A rewrite target before it is known how many groups there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    parts: Vec<TemplatePart>,
}

impl Target {
    /// ingress-nginx: `RegexPathWithCapture`. Of nginx's variables only the captured groups exist.
    pub fn parse(text: &str) -> Parsed<Self> {
        /// As long as a URL may be.
        const LONGEST: usize = 2000;
        let expected = || Expected::from("a path or a URL, with $1 to $9 for captured groups");
        if text.len() > LONGEST {
            return Err(format!("a path or a URL of at most {LONGEST} bytes").into());
        }
        let mut parts = Vec::new();
        for segment in segments(text) {
            let plain = match segment {
                Segment::Text(plain) => plain,
                Segment::Variable {
                    name,
                    braced: false,
                } => {
                    let (group, plain) = group(name).ok_or_else(expected)?;
                    parts.push(TemplatePart::Group(group));
                    plain
                }
                Segment::Variable { .. } | Segment::Dollar => return Err(expected()),
            };
            if !plain.chars().all(is_plain) {
                return Err(expected());
            }
            push(&mut parts, plain);
        }
        Ok(Target { parts })
    }

    /// For a pattern with so many groups. A group that is not there is empty, as in nginx.
    pub fn with_groups(&self, groups: u8) -> Template {
        let exists =
            |part: &&TemplatePart| !matches!(part, TemplatePart::Group(group) if *group > groups);
        Template(self.parts.iter().filter(exists).cloned().collect())
    }

    /// Text of a template without groups.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The scheme, the host with its port, and the rest, of a URL whose host has no group in it.
    pub fn as_url(&self) -> Option<(&'static str, String, Target)> {
        let Some(TemplatePart::Text(first)) = self.parts.first() else {
            return None;
        };
        let (scheme, rest) = [("http", "http://"), ("https", "https://")]
            .into_iter()
            .find_map(|(scheme, prefix)| Some((scheme, first.strip_prefix(prefix)?)))?;
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let mut parts = self.parts.clone();
        if let Some(first) = parts.first_mut() {
            *first = TemplatePart::Text(if path.is_empty() {
                "/".to_owned()
            } else {
                path.to_owned()
            });
        }
        // A group right behind the host belongs to the host.
        let host_is_whole = !path.is_empty() || self.parts.len() == 1;
        host_is_whole.then(|| (scheme, authority.to_owned(), Target { parts }))
    }

    /// True if it looks like a URL.
    pub fn is_url(&self) -> bool {
        matches!(self.parts.first(), Some(TemplatePart::Text(text))
            if text.starts_with("http://") || text.starts_with("https://"))
    }
}

/// Host and port of an authority; `None`: the host is no name of a host.
pub fn host_and_port(authority: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (authority, None),
    };
    let host = sluice_ir::Hostname::parse(host).ok()?;
    Some((host.as_str().to_owned(), port))
}

/// The group that a name like `1` or `1abc` begins with, and the text after it: groups have one digit.
pub(crate) fn group(name: &str) -> Option<(u8, &str)> {
    let (group, plain) = name.split_at_checked(1)?;
    let group = group.parse().ok().filter(|group| *group != 0)?;
    let is_longer = plain.starts_with(|c: char| c.is_ascii_digit());
    (!is_longer).then_some((group, plain))
}

/// ` -._~/:` between the space and the dot is all of ASCII's punctuation up to there.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, ' '..='.' | '_' | '~' | '/' | ':')
}

fn push(parts: &mut Vec<TemplatePart>, plain: &str) {
    match parts.last_mut() {
        _ if plain.is_empty() => {}
        Some(TemplatePart::Text(last)) => last.push_str(plain),
        _ => parts.push(TemplatePart::Text(plain.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(target: &str, groups: u8) -> String {
        serde_json::to_string(&Target::parse(target).unwrap().with_groups(groups)).unwrap()
    }

    #[test]
    fn groups_that_do_not_exist_are_empty() {
        assert_eq!(shown("/a/$1/$2", 1), "\"/a/$1/\"");
    }

    #[test]
    fn variables_of_nginx_are_not_taken() {
        for bad in [
            "/$host", "/$", "/$0", "/${1}", "/$12", "/a?b", "/a\\b", "/a;",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_url_has_a_host_of_its_own() {
        let url = |text: &str| Target::parse(text).unwrap().as_url();
        let (scheme, host, path) = url("https://a.example:8443/x/$1").unwrap();
        assert_eq!((scheme, host.as_str()), ("https", "a.example:8443"));
        assert_eq!(path, Target::parse("/x/$1").unwrap());
        assert_eq!(
            url("http://a.example").unwrap().2,
            Target::parse("/").unwrap()
        );
        assert_eq!(url("https://$1.example/"), None);
        assert_eq!(url("https://a.$1"), None);
        assert_eq!(url("/a"), None);
    }
}
