//! `use-gzip` and `enable-brotli`.

use sluice_ir::{Compression, CompressionSettings, NoGzip};
use sluice_pattern::Subject;
use sluice_syntax::{Parsed, value};

use super::keys::{Key, key};
use super::view::View;
use crate::support::Support;

const NO_BROTLI: &str = "this nginx has no Brotli; use gzip (use-gzip)";

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("brotli-level", "4").full().nginx(Support::Unsupported(NO_BROTLI)),
    key("brotli-min-length", "20").full().nginx(Support::Unsupported(NO_BROTLI)),
    key("brotli-types", "").full().nginx(Support::Unsupported(NO_BROTLI)),
    key("enable-brotli", "false").full().nginx(Support::Unsupported(NO_BROTLI)),
    key("gzip-disable", "").partly("one pattern that RE2 and PCRE share, or msie6"),
    key("gzip-level", "1").full(),
    key("gzip-min-length", "256").full(),
    key("gzip-types", "").full().nginx(Support::Partly("names of up to 46 characters; longer ones are reported")),
    key("use-gzip", "false").full(),
];

/// ingress-nginx's own list, for both.
pub(super) const TYPES: &str = "application/atom+xml application/javascript application/x-javascript \
    application/json application/rss+xml application/vnd.ms-fontobject application/x-font-ttf \
    application/x-web-app-manifest+json application/xhtml+xml application/xml font/opentype image/svg+xml \
    image/x-icon text/css text/javascript text/plain text/x-component";
const GZIP: CompressionSettings = CompressionSettings {
    level: 1,
    min_length: 256,
    types: None,
};
const BROTLI: CompressionSettings = CompressionSettings {
    level: 4,
    min_length: 20,
    types: None,
};

pub(super) fn take(compression: &mut Compression, view: &mut View<'_, '_>) {
    compression.gzip = gzip(view);
    compression.brotli = brotli(view);
    view.set(&mut compression.no_gzip, "gzip-disable", no_gzip);
}

/// nginx finds the pattern in any case of letters.
fn no_gzip(text: &str) -> Parsed<Option<NoGzip>> {
    match text {
        "" => Ok(None),
        "msie6" => Ok(Some(NoGzip::OldInternetExplorer)),
        pattern => {
            let pattern = sluice_pattern::with_flags_in_groups(pattern);
            match sluice_pattern::check(&pattern, Subject::TextInAnyCase) {
                Ok(_) => Ok(Some(NoGzip::Regex(pattern.into_owned()))),
                Err(wrong) => {
                    Err(format!("msie6, or a pattern that RE2 and PCRE share ({wrong})").into())
                }
            }
        }
    }
}

fn gzip(view: &mut View<'_, '_>) -> Option<CompressionSettings> {
    let (mut wanted, mut gzip) = (
        false,
        CompressionSettings {
            types: types(TYPES).ok()?,
            ..GZIP
        },
    );
    view.set(&mut wanted, "use-gzip", value::bool);
    view.set(&mut gzip.level, "gzip-level", |text| level(text, 1, 9));
    view.set(&mut gzip.min_length, "gzip-min-length", value::count);
    view.set(&mut gzip.types, "gzip-types", types);
    wanted.then_some(gzip)
}

fn brotli(view: &mut View<'_, '_>) -> Option<CompressionSettings> {
    let (mut wanted, mut brotli) = (
        false,
        CompressionSettings {
            types: types(TYPES).ok()?,
            ..BROTLI
        },
    );
    view.set(&mut wanted, "enable-brotli", value::bool);
    view.set(&mut brotli.level, "brotli-level", |text| level(text, 0, 11));
    view.set(&mut brotli.min_length, "brotli-min-length", value::count);
    view.set(&mut brotli.types, "brotli-types", types);
    wanted.then_some(brotli)
}

fn level(text: &str, least: u8, most: u8) -> Parsed<u8> {
    let level = text
        .parse()
        .ok()
        .filter(|level| (least..=most).contains(level));
    level.ok_or_else(|| format!("an integer from {least} to {most}").into())
}

/// nginx compresses HTML whether it is named or not.
fn types(text: &str) -> Parsed<Option<Vec<String>>> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if words.contains(&"*") {
        return Ok(None);
    }
    let mut types = vec!["text/html".to_owned()];
    for word in words {
        if !is_type(word) {
            return Err("MIME types with spaces between them, or *".into());
        }
        types.push(word.to_ascii_lowercase());
    }
    types.sort();
    types.dedup();
    Ok(Some(types))
}

fn is_type(word: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#&-^_.+".contains(&b);
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(allowed);
    word.split_once('/')
        .is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_always_there_and_a_star_is_everything() {
        assert_eq!(
            types("text/CSS").unwrap().unwrap(),
            ["text/css", "text/html"]
        );
        assert_eq!(types("* text/css").unwrap(), None);
        for bad in [
            "text", "text/", "text/a;b", "text/a\"", "/a", "text/a/b", "text/*",
        ] {
            assert!(types(bad).is_err(), "{bad:?}");
        }
        assert!(types(TYPES).unwrap().unwrap().len() == 18);
    }

    #[test]
    fn a_pattern_is_one_that_both_data_planes_read() {
        assert_eq!(no_gzip("").unwrap(), None);
        assert_eq!(no_gzip("msie6").unwrap(), Some(NoGzip::OldInternetExplorer));
        let pattern = "Mozilla/4|old";
        assert_eq!(
            no_gzip(pattern).unwrap(),
            Some(NoGzip::Regex(pattern.into()))
        );
        for bad in ["(?!x)y", "(", "a{5000}"] {
            assert!(no_gzip(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn levels_have_bounds() {
        assert_eq!(level("9", 1, 9).unwrap(), 9);
        for bad in ["0", "10", "-1", "best"] {
            assert!(level(bad, 1, 9).is_err(), "{bad:?}");
        }
    }
}
