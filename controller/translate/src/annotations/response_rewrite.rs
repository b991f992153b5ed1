//! Response rewriting: redirects and cookies of the upstream, rewritten for clients.

use sluice_ir::{Replacement, ResponseRewrite};
use sluice_syntax::settings::response_rewrite::{
    cookie_domain, cookie_path, redirect_from, redirect_to, replacement,
};

use super::view::View;
use crate::global::Globals;

pub(super) fn response_rewrite(view: &mut View<'_, '_>, globals: &Globals) -> ResponseRewrite {
    let (domains, paths) = &globals.response_rewrite.cookies;
    ResponseRewrite {
        redirects: redirects(view, globals),
        cookie_domains: view
            .read("proxy-cookie-domain", cookie_domain)
            .unwrap_or_else(|| domains.clone()),
        cookie_paths: view
            .read("proxy-cookie-path", cookie_path)
            .unwrap_or_else(|| paths.clone()),
    }
}

/// As in ingress-nginx each of the two has a default of its own.
fn redirects(view: &mut View<'_, '_>, globals: &Globals) -> Option<Replacement> {
    let (from, to) = &globals.response_rewrite.redirects;
    let from = view
        .read("proxy-redirect-from", redirect_from)
        .unwrap_or_else(|| from.clone());
    let to = view
        .read("proxy-redirect-to", redirect_to)
        .unwrap_or_else(|| to.clone());
    let replacement = replacement(from?, to?);
    replacement
        .map_err(|expected| {
            let own = ["proxy-redirect-to", "proxy-redirect-from"].into_iter();
            if let Some(name) = own.into_iter().find(|name| view.text(name).is_some()) {
                view.reject(name, &expected);
            }
        })
        .ok()
}
