//! Headers that may be set and removed.

use std::fmt;

use serde::Serialize;

use crate::Expression;

/// RFC 8586: who forwards a request appends its name here, and so knows one that comes back.
pub const CDN_LOOP: &str = "cdn-loop";

/// A header that may be set and taken away, in requests and in answers, by every data plane.
///
/// `Host` is none: it is a part of the request, and where it can be said there is a field of its own for it. Nor is what says
/// where a message ends, nor what Sluice and Envoy tell themselves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct HeaderName(String);

/// Why a text is no [`HeaderName`]; to be read after "expected".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidHeaderName {
    /// Something else than letters, digits, `-` and `_`, or more than 256 of them.
    Syntax,
    /// `Host`.
    Host,
    /// It says where a message ends.
    Framing,
    /// It is Sluice's own, or Envoy's.
    Internal,
}

/// A name with more places for a `-` or a `_` has more spellings than anybody can take away.
const MOST_SEPARATORS: usize = 5;

/// RFC 9112: a recipient knows by these where a message ends.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];
/// Prefixes reserved for Sluice and Envoy. Without its marks in `CDN-Loop` a loop would have no end.
const INTERNAL: [&str; 3] = ["x-sluice-", "x-envoy-", CDN_LOOP];
const LONGEST: usize = 256;

impl HeaderName {
    /// RFC 9110: the name of a header, as ingress-nginx accepts it.
    pub fn parse(text: &str) -> Result<Self, InvalidHeaderName> {
        let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if !(1..=LONGEST).contains(&text.len()) || !text.bytes().all(inner) {
            return Err(InvalidHeaderName::Syntax);
        }
        let lower = text.to_ascii_lowercase();
        // nginx takes an underscore for a hyphen in places.
        let alike = lower.replace('_', "-");
        if alike == "host" {
            Err(InvalidHeaderName::Host)
        } else if FRAMING.contains(&alike.as_str()) {
            Err(InvalidHeaderName::Framing)
        } else if INTERNAL.iter().any(|prefix| alike.starts_with(prefix)) {
            Err(InvalidHeaderName::Internal)
        } else {
            Ok(HeaderName(text.to_owned()))
        }
    }

    /// Names that [`HeaderName::parse`] refuses because of their meaning; `*` stands for any end.
    pub fn reserved() -> impl Iterator<Item = String> {
        let whole = ["host"].into_iter().chain(FRAMING).map(str::to_owned);
        whole.chain(INTERNAL.iter().map(|prefix| format!("{prefix}*")))
    }

    /// A name that is known to be valid.
    #[must_use]
    pub fn from_static(name: &'static str) -> Self {
        debug_assert!(HeaderName::parse(name).is_ok(), "{name} is valid");
        HeaderName(name.to_owned())
    }

    /// As it was written; the case does not matter.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if CGI and WSGI take the other name for this one: to them only letters and digits differ.
    #[must_use]
    pub fn is_alike(&self, other: &str) -> bool {
        let read = |byte: u8| {
            if byte.is_ascii_alphanumeric() {
                byte.to_ascii_lowercase()
            } else {
                b'_'
            }
        };
        self.0.bytes().map(read).eq(other.bytes().map(read))
    }

    /// Every name that [`HeaderName::parse`] takes and that is alike, in lower case, this one among them; `None`: too many.
    #[must_use]
    pub fn spellings(&self) -> Option<Vec<HeaderName>> {
        let is_separator = |letter: char| matches!(letter, '-' | '_');
        if self
            .0
            .chars()
            .filter(|letter| is_separator(*letter))
            .count()
            > MOST_SEPARATORS
        {
            return None;
        }
        let mut spellings = vec![String::new()];
        for letter in self.0.chars() {
            let letters: &[char] = if is_separator(letter) {
                &['-', '_']
            } else {
                &[letter]
            };
            let longer = |start: &String| {
                let longer = letters
                    .iter()
                    .map(|letter| format!("{start}{}", letter.to_ascii_lowercase()));
                longer.collect::<Vec<_>>()
            };
            spellings = spellings.iter().flat_map(longer).collect();
        }
        Some(spellings.into_iter().map(HeaderName).collect())
    }

    /// The same in lower case.
    #[must_use]
    pub fn to_lowercase(&self) -> Self {
        HeaderName(self.0.to_ascii_lowercase())
    }
}

impl fmt::Display for InvalidHeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InvalidHeaderName::Syntax => "names of headers (letters, digits, - and _)",
            InvalidHeaderName::Host => "headers other than Host",
            InvalidHeaderName::Framing => "headers that do not say where a message ends",
            InvalidHeaderName::Internal => "headers other than x-sluice-*, x-envoy-* and CDN-Loop",
        })
    }
}

/// A header that is set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Header {
    /// Name of the header.
    pub name: HeaderName,
    /// Empty: nothing is set.
    pub value: Expression,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_alike_whose_letters_are() {
        let name = HeaderName::parse("X-Remote_User").unwrap();
        let spellings = name.spellings().unwrap();
        let texts: Vec<&str> = spellings.iter().map(HeaderName::as_str).collect();
        assert_eq!(
            texts,
            [
                "x-remote-user",
                "x-remote_user",
                "x_remote-user",
                "x_remote_user"
            ]
        );
        assert!(texts.iter().all(|text| name.is_alike(text)));
        assert!(name.is_alike("X.REMOTE.USER"));
        assert!(!name.is_alike("x-remote-users") && !name.is_alike("xremoteuser"));
        assert_eq!(
            HeaderName::parse("a-b-c-d-e-f")
                .unwrap()
                .spellings()
                .map(|all| all.len()),
            Some(32)
        );
        assert_eq!(
            HeaderName::parse("a-b-c-d-e-f-g").unwrap().spellings(),
            None
        );
    }

    #[test]
    fn what_a_data_plane_keeps_for_itself_is_no_header_to_set() {
        for good in [
            "X-A",
            "Server",
            "Connection",
            "Set-Cookie",
            "x_y",
            "X-Forwarded-Host",
            "hosts",
            "1",
        ] {
            assert_eq!(
                HeaderName::parse(good).map(|name| name.0),
                Ok(good.to_owned())
            );
        }
        for (bad, why) in [
            ("", InvalidHeaderName::Syntax),
            (":path", InvalidHeaderName::Syntax),
            ("a b", InvalidHeaderName::Syntax),
            ("a\n", InvalidHeaderName::Syntax),
            (&*"a".repeat(257), InvalidHeaderName::Syntax),
            ("Host", InvalidHeaderName::Host),
            ("hOST", InvalidHeaderName::Host),
            ("Content-Length", InvalidHeaderName::Framing),
            ("content_length", InvalidHeaderName::Framing),
            ("Transfer-Encoding", InvalidHeaderName::Framing),
            ("X-Sluice-Trust", InvalidHeaderName::Internal),
            ("x_sluice_trust", InvalidHeaderName::Internal),
            ("x-envoy-max-retries", InvalidHeaderName::Internal),
            ("CDN_Loop", InvalidHeaderName::Internal),
        ] {
            assert_eq!(HeaderName::parse(bad), Err(why), "{bad:?}");
        }
    }
}
