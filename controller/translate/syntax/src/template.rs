//! Texts with `$1` in them.

use sluice_ir::{Template, TemplatePart};

use crate::value::{Expected, Parsed};
use crate::variables::{Segment, canonical, segments};

/// A rewrite target before it is known how many groups there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    parts: Vec<TemplatePart>,
}

impl Target {
    /// ingress-nginx: `RegexPathWithCapture`. Of nginx's variables only the captured groups exist.
    pub fn parse(text: &str) -> Parsed<Self> {
        Target::parse_with(text, |_| None)
    }

    /// As [`Target::parse`], with `$host` and with constants in the place of variables.
    pub fn for_route<'a>(text: &str, constant: impl Fn(&str) -> Option<&'a str>) -> Parsed<Self> {
        /// Each is a word of a data plane's own, which has a limit.
        const MOST_HOSTS: usize = 16;
        let target = Target::parse_with(text, |name| match constant(name) {
            Some(value) => Some(TemplatePart::Text(value.to_owned())),
            None => canonical(name).eq("host").then_some(TemplatePart::Host),
        })?;
        let parts = target.parts.iter();
        match parts.filter(|part| **part == TemplatePart::Host).count() {
            0..=MOST_HOSTS => Ok(target),
            _ => Err(format!("$host at most {MOST_HOSTS} times").into()),
        }
    }

    fn parse_with(text: &str, more: impl Fn(&str) -> Option<TemplatePart>) -> Parsed<Self> {
        /// As long as a URL may be.
        const LONGEST: usize = 2000;
        let expected = || Expected::from("a path or a URL, with $1 to $9 for captured groups");
        let too_long = || format!("a path or a URL of at most {LONGEST} bytes");
        if text.len() > LONGEST {
            return Err(too_long().into());
        }
        let mut parts = Vec::new();
        let mut bytes = 0;
        for segment in segments(text) {
            let (part, plain) = match segment {
                Segment::Text(plain) => (None, plain),
                Segment::Variable { name, braced } => match more(name) {
                    Some(part) => (Some(part), ""),
                    None if braced => return Err(expected()),
                    None => {
                        let (group, plain) = group(name).ok_or_else(expected)?;
                        (Some(TemplatePart::Group(group)), plain)
                    }
                },
                Segment::Dollar => return Err(expected()),
            };
            let plain = [part, Some(TemplatePart::Text(plain.to_owned()))];
            for part in plain.into_iter().flatten() {
                bytes += push(&mut parts, part).ok_or_else(expected)?;
            }
        }
        if bytes > LONGEST {
            return Err(too_long().into());
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

    /// True if the host of a request is in it.
    pub fn has_host(&self) -> bool {
        self.parts.contains(&TemplatePart::Host)
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

/// The bytes of its text; `None`: that is not plain.
fn push(parts: &mut Vec<TemplatePart>, part: TemplatePart) -> Option<usize> {
    match (parts.last_mut(), part) {
        (_, TemplatePart::Text(plain)) if plain.is_empty() => Some(0),
        (_, TemplatePart::Text(plain)) if !plain.chars().all(is_plain) => None,
        (Some(TemplatePart::Text(last)), TemplatePart::Text(plain)) => {
            last.push_str(&plain);
            Some(plain.len())
        }
        (_, TemplatePart::Text(plain)) => {
            let bytes = plain.len();
            parts.push(TemplatePart::Text(plain));
            Some(bytes)
        }
        (_, part) => {
            parts.push(part);
            Some(0)
        }
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
    fn constants_are_text_beside_groups() {
        let long = "x".repeat(1000);
        let constant = |name: &str| match name {
            "service_name" => Some("2.web"),
            "namespace" => Some(long.as_str()),
            _ => None,
        };
        let parse = |text| Target::for_route(text, constant);
        let shown = parse("/$1$service_name/${service_name}$2")
            .unwrap()
            .with_groups(9);
        let parts = [
            TemplatePart::Text("/".to_owned()),
            TemplatePart::Group(1),
            TemplatePart::Text("2.web/2.web".to_owned()),
            TemplatePart::Group(2),
        ];
        assert_eq!(shown.0, parts);
        assert!(parse("/$namespace").is_ok());
        assert!(parse("/$namespace$namespace").is_err(), "too long");
        assert!(parse("/$service_names").is_err());
        let host = parse("/${host}1").unwrap();
        assert!(host.has_host() && host.literal().is_none());
        assert_eq!(host.with_groups(0).0.len(), 3);
        let hosts = |count| Target::for_route(&"/$host".repeat(count), constant);
        assert!(hosts(16).is_ok() && hosts(17).is_err());
        assert!(Target::parse("/$host").is_err());
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
