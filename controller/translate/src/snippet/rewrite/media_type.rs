//! `Content-Type` of texts that a snippet returns.

use sluice_ir::{Condition, STATUSES_WITHOUT_ERROR};

use crate::snippet::block::Block;
use crate::snippet::error::SnippetError;
use crate::snippet::locations::LocationPath;
use crate::snippet::syntax::tree::Directive;

/// ingress-nginx's `default_type`.
const DEFAULT: &str = "text/html";

/// Types by the extension of a path: nginx's `mime.types`. They come before `default_type`.
#[rustfmt::skip]
const BY_EXTENSION: &[(&str, &str)] = &[
    ("3gp", "video/3gpp"), ("3gpp", "video/3gpp"), ("7z", "application/x-7z-compressed"), ("ai", "application/postscript"),
    ("asf", "video/x-ms-asf"), ("asx", "video/x-ms-asf"), ("atom", "application/atom+xml"), ("avi", "video/x-msvideo"),
    ("avif", "image/avif"), ("bin", "application/octet-stream"), ("bmp", "image/x-ms-bmp"), ("cco", "application/x-cocoa"),
    ("crt", "application/x-x509-ca-cert"), ("css", "text/css"), ("deb", "application/octet-stream"),
    ("der", "application/x-x509-ca-cert"), ("dll", "application/octet-stream"), ("dmg", "application/octet-stream"),
    ("doc", "application/msword"), ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("ear", "application/java-archive"), ("eot", "application/vnd.ms-fontobject"), ("eps", "application/postscript"),
    ("exe", "application/octet-stream"), ("flv", "video/x-flv"), ("gif", "image/gif"), ("hqx", "application/mac-binhex40"),
    ("htc", "text/x-component"), ("htm", "text/html"), ("html", "text/html"), ("ico", "image/x-icon"),
    ("img", "application/octet-stream"), ("iso", "application/octet-stream"), ("jad", "text/vnd.sun.j2me.app-descriptor"),
    ("jar", "application/java-archive"), ("jardiff", "application/x-java-archive-diff"), ("jng", "image/x-jng"),
    ("jnlp", "application/x-java-jnlp-file"), ("jpeg", "image/jpeg"), ("jpg", "image/jpeg"), ("js", "application/javascript"),
    ("json", "application/json"), ("kar", "audio/midi"), ("kml", "application/vnd.google-earth.kml+xml"),
    ("kmz", "application/vnd.google-earth.kmz"), ("m3u8", "application/vnd.apple.mpegurl"), ("m4a", "audio/x-m4a"),
    ("m4v", "video/x-m4v"), ("mid", "audio/midi"), ("midi", "audio/midi"), ("mml", "text/mathml"), ("mng", "video/x-mng"),
    ("mov", "video/quicktime"), ("mp3", "audio/mpeg"), ("mp4", "video/mp4"), ("mpeg", "video/mpeg"), ("mpg", "video/mpeg"),
    ("msi", "application/octet-stream"), ("msm", "application/octet-stream"), ("msp", "application/octet-stream"),
    ("odg", "application/vnd.oasis.opendocument.graphics"), ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"), ("odt", "application/vnd.oasis.opendocument.text"),
    ("ogg", "audio/ogg"), ("pdb", "application/x-pilot"), ("pdf", "application/pdf"), ("pem", "application/x-x509-ca-cert"),
    ("pl", "application/x-perl"), ("pm", "application/x-perl"), ("png", "image/png"), ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"), ("prc", "application/x-pilot"),
    ("ps", "application/postscript"), ("ra", "audio/x-realaudio"), ("rar", "application/x-rar-compressed"),
    ("rpm", "application/x-redhat-package-manager"), ("rss", "application/rss+xml"), ("rtf", "application/rtf"),
    ("run", "application/x-makeself"), ("sea", "application/x-sea"), ("shtml", "text/html"), ("sit", "application/x-stuffit"),
    ("svg", "image/svg+xml"), ("svgz", "image/svg+xml"), ("swf", "application/x-shockwave-flash"), ("tcl", "application/x-tcl"),
    ("tif", "image/tiff"), ("tiff", "image/tiff"), ("tk", "application/x-tcl"), ("ts", "video/mp2t"), ("txt", "text/plain"),
    ("war", "application/java-archive"), ("wasm", "application/wasm"), ("wbmp", "image/vnd.wap.wbmp"), ("webm", "video/webm"),
    ("webp", "image/webp"), ("wml", "text/vnd.wap.wml"), ("wmlc", "application/vnd.wap.wmlc"), ("wmv", "video/x-ms-wmv"),
    ("woff", "font/woff"), ("woff2", "font/woff2"), ("xhtml", "application/xhtml+xml"), ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"), ("xml", "text/xml"),
    ("xpi", "application/x-xpinstall"), ("xspf", "application/xspf+xml"), ("zip", "application/zip"),
];

/// The types of a block's texts.
#[derive(Clone, Copy, Debug)]
pub(in crate::snippet) struct MediaTypes<'a> {
    default: &'a str,
    of_location: Option<&'static str>,
    added: Option<Added<'a>>,
}

impl Default for MediaTypes<'_> {
    fn default() -> Self {
        MediaTypes {
            default: DEFAULT,
            of_location: None,
            added: None,
        }
    }
}

/// `add_header Content-Type TYPE`: a second header in nginx, of which browsers take the last.
#[derive(Clone, Copy, Debug)]
struct Added<'a> {
    media_type: &'a str,
    always: bool,
}

impl<'a> MediaTypes<'a> {
    /// Types in a block of these directives. `location`: the one that it is of.
    pub(in crate::snippet) fn read(
        all: &'a [Directive],
        block: Block,
        location: Option<&LocationPath>,
    ) -> Result<Self, SnippetError> {
        let extension = location.and_then(|location| match location {
            LocationPath::Exact(path)
            | LocationPath::PrefixBeforePatterns(path)
            | LocationPath::Prefix(path) => sluice_ir::extension_of_path(path),
            LocationPath::Pattern(regex) => sluice_ir::extension_of_pattern(&regex.pattern),
        });
        Ok(MediaTypes {
            default: default_type(all)?.unwrap_or(DEFAULT),
            of_location: extension.and_then(|extension| by_extension(&extension)),
            added: added(all, block)?,
        })
    }

    /// The type of a text with this status, to requests that these conditions hold for.
    pub(in crate::snippet) fn of(&self, status: u16, conditions: &[Condition]) -> &'a str {
        match self.added {
            Some(added) if added.always || STATUSES_WITHOUT_ERROR.contains(&status) => {
                added.media_type
            }
            _ => sluice_ir::path_extension(conditions)
                .and_then(|extension| by_extension(&extension))
                .or(self.of_location)
                .unwrap_or(self.default),
        }
    }

    /// True if it is one of the directives that types are read from.
    pub(in crate::snippet) fn reads(directive: &Directive) -> bool {
        directive.name() == "default_type" || adds_content_type(directive)
    }
}

fn default_type(all: &[Directive]) -> Result<Option<&str>, SnippetError> {
    let mut media_type = None;
    for directive in all.iter().filter(|it| it.name() == "default_type") {
        match directive.words.as_slice() {
            [_, said] if media_type.is_none() && is_media_type(said) => {
                media_type = Some(said.as_str());
            }
            _ => return Err(directive.unsupported()),
        }
    }
    Ok(media_type)
}

/// Only where all requests are answered: it would be a header of what pods answer as well.
fn added(all: &[Directive], block: Block) -> Result<Option<Added<'_>>, SnippetError> {
    let answers_all =
        block == Block::LocationOfServer || all.iter().any(|it| it.name() == "return");
    let mut found = None;
    for directive in all.iter().filter(|it| adds_content_type(it)) {
        let (said, always) = match directive.words.as_slice() {
            [_, _, said] => (said, false),
            [_, _, said, always] if always == "always" => (said, true),
            _ => return Err(directive.unsupported()),
        };
        if found.is_some() || !answers_all || !is_media_type(said) {
            return Err(directive.unsupported());
        }
        found = Some(Added {
            media_type: said,
            always,
        });
    }
    Ok(found)
}

fn adds_content_type(directive: &Directive) -> bool {
    let mut words = directive.words.iter();
    words.next().is_some_and(|name| name == "add_header")
        && words
            .next()
            .is_some_and(|header| header.eq_ignore_ascii_case("content-type"))
}

/// The type of an extension in lower case.
fn by_extension(extension: &str) -> Option<&'static str> {
    let mut known = BY_EXTENSION.iter();
    known
        .find(|(known, _)| *known == extension)
        .map(|(_, media_type)| *media_type)
}

/// RFC 6838, section 4.2, without what begins a variable; of parameters, `charset` alone.
fn is_media_type(text: &str) -> bool {
    let is_token = |text: &str| {
        !text.is_empty()
            && text.len() <= 100
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#&-^_.+".contains(&byte))
    };
    let (essence, parameter) = match text.split_once(';') {
        Some((essence, parameter)) => (essence, Some(parameter.trim_start())),
        None => (text, None),
    };
    let is_charset = |parameter: &str| {
        let value = parameter
            .get(.."charset=".len())
            .filter(|name| name.eq_ignore_ascii_case("charset="))
            .and_then(|name| parameter.get(name.len()..));
        value.is_some_and(is_token)
    };
    parameter.is_none_or(is_charset)
        && essence
            .split_once('/')
            .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippet::syntax::tree::directives;

    fn types(text: &str, location: &str, status: u16) -> Option<String> {
        let all = directives(text).unwrap();
        let words: Vec<_> = location.split_whitespace().collect();
        let location = LocationPath::parse(&words);
        let types = MediaTypes::read(&all, Block::LocationOfServer, location.as_ref()).ok()?;
        Some(types.of(status, &[]).to_owned())
    }

    /// Measured with nginx 1.22.
    #[test]
    fn extension_of_the_path_comes_before_default_type() {
        for (path, media_type) in [
            ("/robots.txt", "text/plain"),
            ("/.well-known/assetlinks.JSON", "application/json"),
            ("/a.txt/b", "text/a"),
            ("/a.unknown", "text/a"),
            ("/txt", "text/a"),
        ] {
            for modifier in ["=", "^~", ""] {
                let location = format!("{modifier} {path}");
                let read = types("default_type text/a; return 200 x;", &location, 200);
                assert_eq!(read.as_deref(), Some(media_type), "{location}");
            }
        }
        let read = |location| types("return 200 x;", location, 200);
        assert_eq!(read("~ \\.xml$").as_deref(), Some("text/xml"));
        assert_eq!(read("~ \\.(css|xml)$").as_deref(), Some(DEFAULT));
        assert_eq!(read("/").as_deref(), Some(DEFAULT));
    }

    #[test]
    fn added_header_is_the_type_of_what_it_is_added_to() {
        for (added, status, media_type) in [
            ("text/b", 200, "text/b"),
            ("text/b", 503, "text/a"),
            ("text/b always", 503, "text/b"),
            ("'text/b; charset=utf-8'", 200, "text/b; charset=utf-8"),
        ] {
            let text = format!("default_type text/a; add_header content-type {added};");
            assert_eq!(
                types(&text, "/", status).as_deref(),
                Some(media_type),
                "{added}"
            );
        }
    }

    #[test]
    fn what_is_no_type_or_says_it_twice_is_refused() {
        for bad in [
            "default_type a;",
            "default_type a/b c;",
            "default_type $a/b;",
            "default_type a/b; default_type a/b;",
            "default_type 'a/b; c=d';",
            "default_type 'a/b; charset=';",
            "default_type 'a/b; charset=$x';",
            "default_type a/;",
            "add_header Content-Type $a;",
            "add_header Content-Type a/b; add_header Content-Type a/b;",
            "add_header Content-Type a/b sometimes;",
        ] {
            assert_eq!(types(bad, "/", 200), None, "{bad}");
        }
        let all = directives("add_header Content-Type a/b;").unwrap();
        assert!(MediaTypes::read(&all, Block::Location, None).is_err());
    }
}
