//! Response rewriting: redirects and cookies of the upstream, rewritten for clients.

use sluice_ir::{Replacement, ResponseRewrite};
use sluice_syntax::settings::response_rewrite::{cookie_domain, cookie_path, redirect_part};

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
    let read = |view: &mut View<'_, '_>, name| view.read(name, redirect_part);
    let from = read(view, "proxy-redirect-from")
        .unwrap_or_else(|| globals.response_rewrite.redirects.0.clone());
    let to = read(view, "proxy-redirect-to")
        .unwrap_or_else(|| globals.response_rewrite.redirects.1.clone());
    Some(Replacement {
        from: from?,
        to: to?,
    })
}
