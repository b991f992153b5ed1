//! Rewriting of upstream locations in responses: nginx's `proxy_redirect`, `proxy_cookie_domain` and `proxy_cookie_path`, as
//! `ngx_http_proxy_module` does it.

mod substitution;

use std::borrow::Cow;
use std::rc::Rc;

use sluice_filter_config as wire;

use crate::{Fact, Key, Request};
pub use substitution::Matching;
use substitution::{LazyPattern, Part};

/// The rules of a location.
#[derive(Debug)]
pub enum Rewriting {
    /// They say the same of every request.
    Constant(Rc<Rewrites>),
    /// Something of the request is in them.
    PerRequest(Places<Key>),
}

/// The rules for one request: in each place one replacement.
pub type Rewrites = Places<Vec<u8>>;

/// Values for each kind of replacement.
#[derive(Debug)]
pub struct Places<T> {
    redirects: Option<Replaced<T>>,
    cookie_domains: Option<Replaced<T>>,
    cookie_paths: Option<Replaced<T>>,
}

#[derive(Debug)]
enum Replaced<T> {
    Text {
        from: T,
        to: T,
    },
    Pattern {
        pattern: Rc<LazyPattern>,
        to: Vec<Part<T>>,
    },
}

impl From<&wire::Rewriting> for Rewriting {
    fn from(rewriting: &wire::Rewriting) -> Self {
        let keys = Places {
            redirects: rewriting.redirects.as_ref().map(Replaced::from),
            cookie_domains: rewriting.cookie_domains.as_ref().map(Replaced::from),
            cookie_paths: rewriting.cookie_paths.as_ref().map(Replaced::from),
        };
        if keys.are_constant() {
            Rewriting::Constant(Rc::new(keys.of(&NoRequest)))
        } else {
            Rewriting::PerRequest(keys)
        }
    }
}

impl Rewriting {
    /// Replacements for a request.
    pub fn compile(&self, request: &impl Request) -> Rc<Rewrites> {
        match self {
            Rewriting::Constant(rewrites) => Rc::clone(rewrites),
            Rewriting::PerRequest(keys) => Rc::new(keys.of(request)),
        }
    }
}

impl Places<Key> {
    fn are_constant(&self) -> bool {
        let mut all = [&self.redirects, &self.cookie_domains, &self.cookie_paths]
            .into_iter()
            .flatten();
        all.all(Replaced::is_constant)
    }

    fn of(&self, request: &impl Request) -> Rewrites {
        Places {
            redirects: self.redirects.as_ref().map(|replaced| replaced.of(request)),
            cookie_domains: self
                .cookie_domains
                .as_ref()
                .map(|replaced| replaced.of(request)),
            cookie_paths: self
                .cookie_paths
                .as_ref()
                .map(|replaced| replaced.of(request)),
        }
    }
}

impl From<&wire::Replaced> for Replaced<Key> {
    fn from(replaced: &wire::Replaced) -> Self {
        match replaced {
            wire::Replaced::Text(wire::ReplacedText { from, to }) => Replaced::Text {
                from: Key::from(from),
                to: Key::from(to),
            },
            wire::Replaced::Pattern(replaced) => Replaced::Pattern {
                pattern: Rc::new(LazyPattern::new(replaced)),
                to: replaced.to.iter().map(Part::new).collect(),
            },
        }
    }
}

impl Replaced<Key> {
    fn is_constant(&self) -> bool {
        match self {
            Replaced::Text { from, to } => from.is_constant() && to.is_constant(),
            Replaced::Pattern { to, .. } => to.iter().all(Part::is_constant),
        }
    }

    fn of(&self, request: &impl Request) -> Replaced<Vec<u8>> {
        let value = |key: &Key| {
            let mut value = Vec::new();
            key.evaluate(request, &mut value);
            value
        };
        match self {
            Replaced::Text { from, to } => Replaced::Text {
                from: value(from),
                to: value(to),
            },
            Replaced::Pattern { pattern, to } => Replaced::Pattern {
                pattern: Rc::clone(pattern),
                to: to.iter().map(|part| part.map(value)).collect(),
            },
        }
    }
}

impl Rewrites {
    /// The headers of an answer that something may be replaced in.
    pub const HEADERS: [&str; 3] = ["location", "refresh", "set-cookie"];

    /// One value of one of these headers, if it changes. `matching` is that of the response.
    #[must_use]
    pub fn rewrite(&self, header: &str, value: &[u8], matching: &mut Matching) -> Option<Vec<u8>> {
        let rewritten = match header {
            "location" => self.redirects.as_ref()?.start(value, matching),
            "refresh" => self.refresh(value, matching),
            "set-cookie" => self.cookie(value, matching),
            _ => None,
        };
        // `$uri` is decoded: a client may have put the end of a line into it.
        rewritten.filter(|value| !value.iter().any(u8::is_ascii_control))
    }

    /// `5; url=http://a/`
    fn refresh(&self, value: &[u8], matching: &mut Matching) -> Option<Vec<u8>> {
        const MARK: &[u8] = b"url=";
        let redirects = self.redirects.as_ref()?;
        let at = value
            .windows(MARK.len())
            .position(|part| part.eq_ignore_ascii_case(MARK))?;
        let (before, url) = value.split_at_checked(at + MARK.len())?;
        Some([before, &redirects.start(url, matching)?].concat())
    }

    /// Only one in which something is replaced is put together again, which sets its blanks right. What has no value is no
    /// cookie.
    fn cookie(&self, value: &[u8], matching: &mut Matching) -> Option<Vec<u8>> {
        Attribute::parse(value.split(|&b| b == b';').next()?).value?;
        let mut is_changed = false;
        let mut rewritten = Vec::with_capacity(value.len());
        for (place, attribute) in value
            .split(|&b| b == b';')
            .map(Attribute::parse)
            .enumerate()
        {
            let changed = attribute
                .value
                .filter(|_| place > 0)
                .and_then(|v| self.attribute(attribute.name, v, matching));
            is_changed |= changed.is_some();
            if place > 0 {
                rewritten.extend_from_slice(b"; ");
            }
            rewritten.extend_from_slice(attribute.name);
            if let Some(value) = changed.as_deref().or(attribute.value) {
                rewritten.push(b'=');
                rewritten.extend_from_slice(value);
            }
        }
        is_changed.then_some(rewritten)
    }

    fn attribute(&self, name: &[u8], value: &[u8], matching: &mut Matching) -> Option<Vec<u8>> {
        if name.eq_ignore_ascii_case(b"domain") {
            self.cookie_domains.as_ref()?.domain(value, matching)
        } else if name.eq_ignore_ascii_case(b"path") {
            self.cookie_paths.as_ref()?.start(value, matching)
        } else {
            None
        }
    }
}

impl Replaced<Vec<u8>> {
    fn start(&self, value: &[u8], matching: &mut Matching) -> Option<Vec<u8>> {
        match self {
            Replaced::Text { from, to } => {
                let rest = value.strip_prefix(from.as_slice())?;
                Some([to, rest].concat())
            }
            Replaced::Pattern { pattern, to } => pattern.replace(value, to, matching),
        }
    }

    /// A dot in front of a text stays.
    fn domain(&self, value: &[u8], matching: &mut Matching) -> Option<Vec<u8>> {
        match self {
            Replaced::Text { from, to } => {
                let bare = value.strip_prefix(b".").unwrap_or(value);
                let dot = value.strip_suffix(bare).unwrap_or_default();
                bare.eq_ignore_ascii_case(from).then(|| [dot, to].concat())
            }
            Replaced::Pattern { pattern, to } => pattern.replace(value, to, matching),
        }
    }
}

/// A part of a cookie, without the blanks around.
#[derive(Clone, Copy)]
struct Attribute<'a> {
    name: &'a [u8],
    value: Option<&'a [u8]>,
}

impl<'a> Attribute<'a> {
    fn parse(text: &'a [u8]) -> Self {
        match text.iter().position(|&b| b == b'=') {
            Some(at) => {
                let (name, value) = text.split_at(at);
                Attribute {
                    name: trim(name),
                    value: value.get(1..).map(trim),
                }
            }
            None => Attribute {
                name: trim(text),
                value: None,
            },
        }
    }
}

/// To nginx only this is a blank.
fn trim(mut text: &[u8]) -> &[u8] {
    while let Some(rest) = text.strip_prefix(b" ") {
        text = rest;
    }
    while let Some(rest) = text.strip_suffix(b" ") {
        text = rest;
    }
    text
}

/// Request of keys that are the same for all requests.
struct NoRequest;

impl Request for NoRequest {
    fn header(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn fact(&self, _fact: Fact) -> Option<Cow<'_, [u8]>> {
        None
    }
}

#[cfg(test)]
mod tests;
