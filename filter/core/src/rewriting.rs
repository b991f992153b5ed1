//! Rewriting of upstream locations in responses: nginx's `proxy_redirect`, `proxy_cookie_domain` and `proxy_cookie_path`, as
//! `ngx_http_proxy_module` does it.

use std::borrow::Cow;
use std::rc::Rc;

use sluice_filter_config as wire;

use crate::{Fact, Key, Request};

/// The rules of a location.
#[derive(Debug)]
pub enum Rewriting {
    /// They say the same of every request.
    Constant(Rc<Rewrites>),
    /// Something of the request is in them.
    PerRequest(Places<Key>),
}

/// The rules for one request: in each place one text for another.
pub type Rewrites = Places<Vec<u8>>;

/// Values for each kind of replacement.
#[derive(Debug)]
pub struct Places<T> {
    redirects: Option<Replaced<T>>,
    cookie_domains: Option<Replaced<T>>,
    cookie_paths: Option<Replaced<T>>,
}

#[derive(Debug)]
struct Replaced<T> {
    from: T,
    to: T,
}

impl From<&wire::Rewriting> for Rewriting {
    fn from(rewriting: &wire::Rewriting) -> Self {
        let key = |replaced: &wire::Replaced| Replaced {
            from: Key::from(&replaced.from),
            to: Key::from(&replaced.to),
        };
        let keys = Places {
            redirects: rewriting.redirects.as_ref().map(key),
            cookie_domains: rewriting.cookie_domains.as_ref().map(key),
            cookie_paths: rewriting.cookie_paths.as_ref().map(key),
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
        all.all(|replaced| replaced.from.is_constant() && replaced.to.is_constant())
    }

    fn of(&self, request: &impl Request) -> Rewrites {
        let value = |key: &Key| {
            let mut value = Vec::new();
            key.evaluate(request, &mut value);
            value
        };
        let both = |replaced: &Replaced<Key>| Replaced {
            from: value(&replaced.from),
            to: value(&replaced.to),
        };
        Places {
            redirects: self.redirects.as_ref().map(both),
            cookie_domains: self.cookie_domains.as_ref().map(both),
            cookie_paths: self.cookie_paths.as_ref().map(both),
        }
    }
}

impl Rewrites {
    /// The headers of an answer that something may be replaced in.
    pub const HEADERS: [&str; 3] = ["location", "refresh", "set-cookie"];

    /// One value of one of these headers, if it changes.
    #[must_use]
    pub fn rewrite(&self, header: &str, value: &[u8]) -> Option<Vec<u8>> {
        let rewritten = match header {
            "location" => self.redirects.as_ref()?.start(value),
            "refresh" => self.refresh(value),
            "set-cookie" => self.cookie(value),
            _ => None,
        };
        // `$uri` is decoded: a client may have put the end of a line into it.
        rewritten.filter(|value| !value.iter().any(u8::is_ascii_control))
    }

    /// `5; url=http://a/`
    fn refresh(&self, value: &[u8]) -> Option<Vec<u8>> {
        const MARK: &[u8] = b"url=";
        let redirects = self.redirects.as_ref()?;
        let at = value
            .windows(MARK.len())
            .position(|part| part.eq_ignore_ascii_case(MARK))?;
        let (before, url) = value.split_at_checked(at + MARK.len())?;
        Some([before, &redirects.start(url)?].concat())
    }

    /// Only one in which something is replaced is put together again, which sets its blanks right. What has no value is no
    /// cookie.
    fn cookie(&self, value: &[u8]) -> Option<Vec<u8>> {
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
                .and_then(|v| self.attribute(attribute.name, v));
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

    fn attribute(&self, name: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        if name.eq_ignore_ascii_case(b"domain") {
            self.cookie_domains.as_ref()?.domain(value)
        } else if name.eq_ignore_ascii_case(b"path") {
            self.cookie_paths.as_ref()?.start(value)
        } else {
            None
        }
    }
}

impl Replaced<Vec<u8>> {
    fn start(&self, value: &[u8]) -> Option<Vec<u8>> {
        let rest = value.strip_prefix(self.from.as_slice())?;
        Some([&self.to, rest].concat())
    }

    /// A dot in front stays.
    fn domain(&self, value: &[u8]) -> Option<Vec<u8>> {
        let bare = value.strip_prefix(b".").unwrap_or(value);
        let dot = value.strip_suffix(bare).unwrap_or_default();
        bare.eq_ignore_ascii_case(&self.from)
            .then(|| [dot, &self.to].concat())
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
mod tests {
    use super::*;
    use crate::testing::FakeRequest;

    fn replaced(from: &str, to: &str) -> Option<wire::Replaced> {
        let key = |text| wire::HashKey::parse(text).0;
        Some(wire::Replaced {
            from: key(from),
            to: key(to),
        })
    }

    /// With these rules: of redirects, of domains, of paths.
    fn rewrites(rules: [(&str, &str); 3], request: &FakeRequest) -> Rc<Rewrites> {
        let [redirects, cookie_domains, cookie_paths] = rules.map(|(from, to)| replaced(from, to));
        Rewriting::from(&wire::Rewriting {
            redirects,
            cookie_domains,
            cookie_paths,
        })
        .compile(request)
    }

    fn usual() -> Rc<Rewrites> {
        let rules = [
            ("http://pod:8080/", "https://shop/"),
            ("pod", "shop.example"),
            ("/app/", "/shop/"),
        ];
        rewrites(rules, &FakeRequest::default())
    }

    fn shown(rewrites: &Rewrites, header: &str, value: &str) -> String {
        let rewritten = rewrites.rewrite(header, value.as_bytes());
        rewritten.map_or_else(
            || "as it was".to_owned(),
            |value| String::from_utf8(value).unwrap(),
        )
    }

    #[test]
    fn what_a_redirect_begins_with_is_replaced_and_nothing_else() {
        let location = |value| shown(&usual(), "location", value);
        assert_eq!(
            location("http://pod:8080/a?b=http://pod:8080/"),
            "https://shop/a?b=http://pod:8080/"
        );
        assert_eq!(location("http://pod:8080/"), "https://shop/");
        for other in [
            "http://pod:8080",
            "HTTP://pod:8080/",
            "/a",
            "http://other/",
            "",
        ] {
            assert_eq!(location(other), "as it was", "{other}");
        }
    }

    #[test]
    fn the_url_of_a_refresh_is_found_in_any_case() {
        let refresh = |value| shown(&usual(), "refresh", value);
        assert_eq!(refresh("5; URL=http://pod:8080/x"), "5; URL=https://shop/x");
        for other in ["5", "5; url=", "5; url=/x", "http://pod:8080/"] {
            assert_eq!(refresh(other), "as it was", "{other}");
        }
    }

    #[test]
    fn a_domain_is_replaced_whole_in_any_case_and_keeps_its_dot() {
        let cookie = |value| shown(&usual(), "set-cookie", value);
        assert_eq!(cookie("a=1; Domain=POD"), "a=1; Domain=shop.example");
        assert_eq!(
            cookie("a=1;domain = .pod ;Secure"),
            "a=1; domain=.shop.example; Secure"
        );
        for other in [
            "a=1; Domain=x.pod",
            "a=1; Domain=..pod",
            "Domain=pod",
            "a=1; Domain",
            "a=1",
        ] {
            assert_eq!(cookie(other), "as it was", "{other}");
        }
    }

    #[test]
    fn what_a_path_begins_with_is_replaced_and_the_rest_of_the_cookie_stays() {
        let cookie = |value| shown(&usual(), "set-cookie", value);
        let (before, after) = (
            "a=1=2; HttpOnly; Path=/app/x; Max-Age=3",
            "a=1=2; HttpOnly; Path=/shop/x; Max-Age=3",
        );
        assert_eq!(cookie(before), after);
        assert_eq!(
            cookie("a=/app/; path=/app/; domain=pod"),
            "a=/app/; path=/shop/; domain=shop.example"
        );
        for other in [
            "a=1; Path=/",
            "a=1; Path=/App/",
            "Path=/app/",
            "a=1; Pathx=/app/",
            "a; Path=/app/",
        ] {
            assert_eq!(cookie(other), "as it was", "{other}");
        }
    }

    #[test]
    fn variables_are_those_of_the_request_and_end_no_line() {
        let rules = [
            ("http://$http_host/", "https://$host$uri/"),
            ("$http_none", "x"),
            ("/", "/$arg_x"),
        ];
        let ask = |path: &str| {
            FakeRequest::default()
                .with(":authority", "Shop:80")
                .with(":path", path)
        };
        let good = rewrites(rules, &ask("/a?x=1"));
        assert_eq!(
            shown(&good, "location", "http://Shop:80/b"),
            "https://shop/a/b"
        );
        assert_eq!(
            shown(&good, "set-cookie", "a=1; path=/; domain=y"),
            "a=1; path=/1; domain=y"
        );
        let bad = rewrites(rules, &ask("/a%0d%0aSet-Cookie:b"));
        assert_eq!(shown(&bad, "location", "http://Shop:80/b"), "as it was");
    }

    #[test]
    fn a_place_without_a_rule_is_left_alone() {
        let rewriting = wire::Rewriting {
            cookie_paths: replaced("/", "/x/"),
            ..wire::Rewriting::default()
        };
        let rewrites = Rewriting::from(&rewriting).compile(&FakeRequest::default());
        assert_eq!(shown(&rewrites, "location", "/"), "as it was");
        assert_eq!(
            shown(&rewrites, "set-cookie", "a=1; domain=pod; path=/"),
            "a=1; domain=pod; path=/x/"
        );
        assert_eq!(shown(&rewrites, "x-other", "/"), "as it was");
    }
}
