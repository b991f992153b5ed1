//! Rewrites of responses, in nginx's directives.

use sluice_ir::{Replacement, ResponseRewrite};

use crate::conf::Value;
use crate::expression::expression;

/// `proxy_redirect` and the like: from what, to what.
pub(crate) type Replacing = (&'static str, Value, Value);

pub(crate) fn replacing(response_rewrite: &ResponseRewrite) -> Vec<Replacing> {
    let ResponseRewrite {
        redirects,
        cookie_domains,
        cookie_paths,
    } = response_rewrite;
    let all = [
        ("proxy_redirect", redirects),
        ("proxy_cookie_domain", cookie_domains),
        ("proxy_cookie_path", cookie_paths),
    ];
    all.into_iter()
        .filter_map(|(name, replaced)| Some(one(name, replaced.as_ref()?)))
        .collect()
}

fn one(name: &'static str, replaced: &Replacement) -> Replacing {
    let text = |text| expression(text).quoted();
    (name, text(&replaced.from), text(&replaced.to))
}
