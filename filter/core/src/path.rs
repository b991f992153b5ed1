//! Canonical form of a path, by which routes are found: decoded, without double slashes and dot segments, as in nginx before
//! it looks for a route.
//!
//! Characters that a path cannot have unencoded (blanks, control characters, `"#%<>?\^{|}`, backticks, all beyond ASCII) stay
//! encoded, so that the path can be sent on; nginx encodes the same ones when it sends a path that it has changed.

use std::borrow::Cow;

/// A target (path and query) written in this way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// The same target.
    pub target: Vec<u8>,
    /// It had dot segments: a pod that does not decode slashes would resolve such a path otherwise.
    pub had_dots: bool,
}

/// A target that means nothing: a `%` without two digits, a NUL, dots that lead above the root, or no path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// True if nothing in its path is encoded or ought to be. Dot segments and double slashes are Envoy's to resolve, which leaves two
/// slashes of a path that has nothing else.
#[must_use]
pub fn is_plain(target: &[u8]) -> bool {
    let mut path = target.iter().take_while(|&&byte| byte != b'?');
    path.all(|&byte| is_sent_as_it_is(byte)) && !is_double_slash(target)
}

/// The path that a canonical one means. There is nothing to copy where nothing is encoded.
#[must_use]
pub fn meaning(canonical: &[u8]) -> Cow<'_, [u8]> {
    if !canonical.contains(&b'%') {
        return Cow::Borrowed(canonical);
    }
    let mut meaning = Vec::with_capacity(canonical.len());
    let mut rest = canonical;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        let encoded = (byte == b'%').then(|| decoded(&mut rest).ok()).flatten();
        meaning.push(encoded.unwrap_or(byte));
    }
    Cow::Owned(meaning)
}

/// Text of a path as it is in a canonical one.
#[must_use]
pub fn encoded(text: &[u8]) -> Cow<'_, [u8]> {
    if text.iter().all(|byte| is_sent_as_it_is(*byte)) {
        return Cow::Borrowed(text);
    }
    let mut encoded = Vec::with_capacity(3 * text.len());
    text.iter().for_each(|byte| push(&mut encoded, *byte));
    Cow::Owned(encoded)
}

/// As `ngx_escape_uri` has it.
fn is_sent_as_it_is(byte: u8) -> bool {
    byte.is_ascii_graphic() && !br##""#%<>?\^`{|}"##.contains(&byte)
}

fn push(path: &mut Vec<u8>, byte: u8) {
    if is_sent_as_it_is(byte) {
        path.push(byte);
    } else {
        let digit = |nibble: u8| {
            if nibble < 10 {
                b'0' + nibble
            } else {
                b'A' + nibble - 10
            }
        };
        path.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
    }
}

fn is_double_slash(target: &[u8]) -> bool {
    matches!(target, [b'/', b'/'] | [b'/', b'/', b'?', ..])
}

/// Writes it in the one way.
///
/// # Errors
/// nginx answers 400 to such a target.
pub fn canonical(target: &[u8]) -> Result<Canonical, Malformed> {
    let end = target
        .iter()
        .position(|&byte| byte == b'?')
        .unwrap_or(target.len());
    let (path, query) = target.split_at(end);
    let Some((b'/', mut rest)) = path.split_first() else {
        return Err(Malformed);
    };
    let mut written = Written {
        bytes: Vec::with_capacity(target.len()),
        segment: 1,
        had_dots: false,
    };
    written.bytes.push(b'/');
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        let byte = if byte == b'%' {
            decoded(&mut rest)?
        } else {
            byte
        };
        match byte {
            0 => return Err(Malformed),
            b'/' => written.end_segment(true)?,
            byte => push(&mut written.bytes, byte),
        }
    }
    written.end_segment(false)?;
    written.bytes.extend_from_slice(query);
    Ok(Canonical {
        target: written.bytes,
        had_dots: written.had_dots,
    })
}

/// The byte of the two digits that come next.
fn decoded(rest: &mut &[u8]) -> Result<u8, Malformed> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    match rest {
        [high, low, behind @ ..] => {
            let (high, low) = (
                digit(*high).ok_or(Malformed)?,
                digit(*low).ok_or(Malformed)?,
            );
            *rest = behind;
            Ok(high << 4 | low)
        }
        _ => Err(Malformed),
    }
}

/// The path so far; `segment` is the start of its last segment.
struct Written {
    bytes: Vec<u8>,
    segment: usize,
    had_dots: bool,
}

impl Written {
    fn end_segment(&mut self, is_slash: bool) -> Result<(), Malformed> {
        match self.bytes.get(self.segment..).unwrap_or_default() {
            b"" => {}
            b"." => self.go_back_to(self.segment),
            b".." => {
                let before = self
                    .bytes
                    .get(..self.segment.saturating_sub(1))
                    .unwrap_or_default();
                let parent = before
                    .iter()
                    .rposition(|&byte| byte == b'/')
                    .ok_or(Malformed)?;
                self.go_back_to(parent + 1);
            }
            _ if is_slash => {
                self.bytes.push(b'/');
                self.segment = self.bytes.len();
            }
            _ => {}
        }
        Ok(())
    }

    fn go_back_to(&mut self, segment: usize) {
        self.had_dots = true;
        self.bytes.truncate(segment);
        self.segment = segment;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(target: &str) -> Option<String> {
        let canonical = canonical(target.as_bytes()).ok()?;
        Some(String::from_utf8(canonical.target).unwrap())
    }

    #[test]
    fn a_path_is_decoded_then_its_slashes_and_dots_are_resolved() {
        for (target, expected) in [
            ("/", "/"),
            ("//", "/"),
            ("///?a//b", "/?a//b"),
            ("/admin%2fx", "/admin/x"),
            ("/admin%2F%2fx/", "/admin/x/"),
            ("/%2fadmin", "/admin"),
            ("/x/..%2fadmin?a=%2f..", "/admin?a=%2f.."),
            ("/x%2f%2e%2E%2fadmin%2f.", "/admin/"),
            ("/x/%2e%2e", "/"),
            ("/x/...%2f..y", "/x/.../..y"),
            ("/%61%7e%3b", "/a~;"),
            ("/admin%5cx", "/admin%5Cx"),
            ("/%22%3c%3E%5E%60%7B%7c%7d%5B", "/%22%3C%3E%5E%60%7B%7C%7D["),
            ("/a%252fb", "/a%252fb"),
            ("/%20%25%3f%23%7f%01%c3%a9", "/%20%25%3F%23%7F%01%C3%A9"),
            ("/a%3fb?c%00", "/a%3Fb?c%00"),
        ] {
            assert_eq!(of(target).as_deref(), Some(expected), "{target}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let refused = [
            "",
            "x",
            "*",
            "/%",
            "/%2",
            "/%zz",
            "/%2g",
            "/a%00",
            "/..",
            "/..%2fa",
            "/a%2f..%2f../b",
        ];
        assert!(refused.iter().all(|target| of(target).is_none()));
    }

    #[test]
    fn only_what_is_before_the_query_counts_as_encoded() {
        assert!(!is_plain(b"/a%2f") && is_plain(b"/a?%2f") && is_plain(b"/a"));
    }

    #[test]
    fn bytes_that_ought_to_be_encoded_count_as_encoded() {
        for byte in (1..=u8::MAX).filter(|byte| *byte != b'?') {
            let target = [b'/', byte, b'a'];
            let canonical = canonical(&target).map(|path| path.target);
            let is_same = canonical.as_deref() == Ok(&target);
            let is_slashes = byte == b'/';
            assert_eq!(is_plain(&target), is_same || is_slashes, "{byte}");
            let own = encoded(&[byte]).into_owned();
            assert_eq!(*meaning(&own), [byte]);
        }
        assert_eq!(*meaning(b"/a%20b%C3%A9%25"), *"/a b\u{e9}%".as_bytes());
    }

    /// The same by other means: all bytes first, then all segments, then text.
    fn by_hand(path: &str) -> Option<String> {
        let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
        while let [first, behind @ ..] = rest {
            let is_encoded = *first == b'%';
            let digits = if is_encoded {
                Some(std::str::from_utf8(behind.get(..2)?).ok()?)
            } else {
                None
            };
            bytes.push(match digits {
                Some(digits) if digits.starts_with('+') => return None,
                Some(digits) => u8::from_str_radix(digits, 16).ok()?,
                None => *first,
            });
            rest = if is_encoded { &behind[2..] } else { behind };
        }
        let mut segments: Vec<&[u8]> = Vec::new();
        let all: Vec<_> = bytes.split(|&byte| byte == b'/').skip(1).collect();
        for segment in &all {
            match *segment {
                b"" | b"." => {}
                b".." => drop(segments.pop()?),
                segment => segments.push(segment),
            }
        }
        let ends_open = matches!(all.last(), Some(&(b"" | b"." | b".."))) && !segments.is_empty();
        let text = |segment: &&[u8]| -> String {
            let kept =
                |byte: u8| (0x21..0x7f).contains(&byte) && !b"\"#%<>?\\^`{|}".contains(&byte);
            let one = |&byte: &u8| {
                if kept(byte) {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            };
            segment.iter().map(one).collect()
        };
        let text = segments.iter().map(text).collect::<Vec<_>>().join("/");
        (!bytes.contains(&0)).then(|| format!("/{text}{}", if ends_open { "/" } else { "" }))
    }

    proptest! {
        #[test]
        fn it_is_what_it_is_by_other_means(parts in prop::collection::vec(
            prop::sample::select(vec![
                "/", "//", ".", "..", "%2e", "%2E", "%2f", "%2F", "%5c", "\\", ";", "a", "%61", "%25", "%3f", "%00", "%", "%2",
                "%c3%a9", "%20", "é", "%+1",
            ]),
            0..12,
        )) {
            let path = format!("/{}", parts.concat());
            let expected = by_hand(&path);
            prop_assert_eq!(&of(&path), &expected);
            if let Some(written) = expected {
                prop_assert_eq!(of(&written), Some(written), "is written in one way");
            }
        }

        #[test]
        fn nothing_makes_it_panic(target in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(Canonical { target, .. }) = canonical(&target) {
                let path = target.split(|&byte| byte == b'?').next().unwrap_or_default();
                prop_assert!(path.starts_with(b"/") && path.iter().all(u8::is_ascii_graphic));
                prop_assert!(!path.windows(2).any(|two| two == b"//"));
            }
        }
    }
}
