//! Rewriting of redirects and cookies in pods' responses.

use sluice_ir::{Expression, Replacement};
use sluice_syntax::settings::response_rewrite::{cookie_domain, cookie_path, redirect_part};

use super::keys::{Key, key};
use super::view::View;
use crate::support::VARIABLES_NO_PATTERNS;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("proxy-cookie-domain", "off").partly(VARIABLES_NO_PATTERNS),
    key("proxy-cookie-path", "off").partly(VARIABLES_NO_PATTERNS),
    key("proxy-redirect-from", "off").partly(VARIABLES_NO_PATTERNS),
    key("proxy-redirect-to", "off").partly(VARIABLES_NO_PATTERNS),
];

/// Rewriting of responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseRewrite {
    /// `proxy-redirect-from` and `proxy-redirect-to`
    pub(crate) redirects: (Option<Expression>, Option<Expression>),
    /// `proxy-cookie-domain` and `proxy-cookie-path`
    pub(crate) cookies: (Option<Replacement>, Option<Replacement>),
}

impl ResponseRewrite {
    pub(super) fn take(&mut self, view: &mut View<'_, '_>) {
        view.set(&mut self.redirects.0, "proxy-redirect-from", redirect_part);
        view.set(&mut self.redirects.1, "proxy-redirect-to", redirect_part);
        view.set(&mut self.cookies.0, "proxy-cookie-domain", cookie_domain);
        view.set(&mut self.cookies.1, "proxy-cookie-path", cookie_path);
    }
}
