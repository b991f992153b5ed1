//! Rewriting of redirects and cookies in pods' responses.

use sluice_ir::{ReasonCode, Replacement, Substitution};
use sluice_syntax::settings::response_rewrite::{
    Replaced, cookie_domain, cookie_path, redirect_from, redirect_to, replacement,
};
use sluice_translate_engine::Severity;

use super::keys::{Key, key};
use super::view::View;
use crate::support::VARIABLES_AND_PATTERNS;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("proxy-cookie-domain", "off").partly(VARIABLES_AND_PATTERNS),
    key("proxy-cookie-path", "off").partly(VARIABLES_AND_PATTERNS),
    key("proxy-redirect-from", "off").partly(VARIABLES_AND_PATTERNS),
    key("proxy-redirect-to", "off").partly(VARIABLES_AND_PATTERNS),
];

/// Rewriting of responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResponseRewrite {
    /// `proxy-redirect-from` and `proxy-redirect-to`
    pub(crate) redirects: (Option<Replaced>, Option<Substitution>),
    /// `proxy-cookie-domain` and `proxy-cookie-path`
    pub(crate) cookies: (Option<Replacement>, Option<Replacement>),
}

impl ResponseRewrite {
    pub(super) fn take(&mut self, view: &mut View<'_, '_>) {
        view.set(&mut self.redirects.0, "proxy-redirect-from", redirect_from);
        view.set(&mut self.redirects.1, "proxy-redirect-to", redirect_to);
        self.check_redirects(view);
        view.set(&mut self.cookies.0, "proxy-cookie-domain", cookie_domain);
        view.set(&mut self.cookies.1, "proxy-cookie-path", cookie_path);
    }

    /// Two values of one ConfigMap that do not go together replace nothing.
    fn check_redirects(&mut self, view: &mut View<'_, '_>) {
        let (Some(from), Some(to)) = &self.redirects else {
            return;
        };
        if let Err(expected) = replacement(from.clone(), to.clone()) {
            let reason = format!("expected {expected}");
            let consequence = "redirects are not rewritten";
            let code = ReasonCode::InvalidValue;
            view.report(
                code,
                Severity::Warning,
                "proxy-redirect-to",
                reason,
                consequence,
            );
            self.redirects.1 = None;
        }
    }
}
