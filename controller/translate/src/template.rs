//! Texts with `$1` in them.

use sluice_ir::{Template, TemplatePart};

use crate::annotations::{Expected, Parsed};

/// A rewrite target before it is known how many groups there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pieces: Vec<TemplatePart>,
}

impl Target {
    /// ingress-nginx: `RegexPathWithCapture`. Of nginx's variables only the captured groups exist.
    pub(crate) fn parse(text: &str) -> Parsed<Self> {
        /// As long as a URL may be.
        const LONGEST: usize = 2000;
        let expected = || Expected::from("a path or a URL, with $1 to $9 for captured groups");
        if text.len() > LONGEST {
            return Err(format!("a path or a URL of at most {LONGEST} bytes").into());
        }
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '$' => {
                    let digit = letters
                        .next()
                        .and_then(|digit| digit.to_digit(10))
                        .filter(|digit| *digit != 0);
                    let group = digit
                        .and_then(|digit| u8::try_from(digit).ok())
                        .ok_or_else(expected)?;
                    if letters.peek().is_some_and(char::is_ascii_digit) {
                        return Err(expected());
                    }
                    flush(&mut plain, &mut pieces);
                    pieces.push(TemplatePart::Group(group));
                }
                _ if letter.is_ascii_alphanumeric() || is_plain(letter) => plain.push(letter),
                _ => return Err(expected()),
            }
        }
        flush(&mut plain, &mut pieces);
        Ok(Target { pieces })
    }

    /// For a pattern with so many groups. A group that is not there is empty, as in nginx.
    pub(crate) fn with_groups(&self, groups: u8) -> Template {
        let exists =
            |piece: &&TemplatePart| !matches!(piece, TemplatePart::Group(group) if *group > groups);
        Template(self.pieces.iter().filter(exists).cloned().collect())
    }

    /// What it says when there is no group in it.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The scheme, the host with its port, and the rest, of a URL whose host has no group in it.
    pub(crate) fn as_url(&self) -> Option<(&'static str, String, Target)> {
        let Some(TemplatePart::Text(first)) = self.pieces.first() else {
            return None;
        };
        let (scheme, rest) = [("http", "http://"), ("https", "https://")]
            .into_iter()
            .find_map(|(scheme, prefix)| Some((scheme, first.strip_prefix(prefix)?)))?;
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let mut pieces = self.pieces.clone();
        if let Some(first) = pieces.first_mut() {
            *first = TemplatePart::Text(if path.is_empty() {
                "/".to_owned()
            } else {
                path.to_owned()
            });
        }
        // A group right behind the host belongs to the host.
        let host_is_whole = !path.is_empty() || self.pieces.len() == 1;
        host_is_whole.then(|| (scheme, authority.to_owned(), Target { pieces }))
    }

    /// True if it looks like a URL.
    pub(crate) fn is_url(&self) -> bool {
        matches!(self.pieces.first(), Some(TemplatePart::Text(text))
            if text.starts_with("http://") || text.starts_with("https://"))
    }
}

/// ` -._~/:` between the space and the dot is all of ASCII's punctuation up to there.
fn is_plain(letter: char) -> bool {
    matches!(letter, ' '..='.' | '_' | '~' | '/' | ':') && letter != '$'
}

fn flush(plain: &mut String, pieces: &mut Vec<TemplatePart>) {
    if !plain.is_empty() {
        pieces.push(TemplatePart::Text(std::mem::take(plain)));
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
