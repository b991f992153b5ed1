//! Redirects: to https, their status, and the form of their targets.

use sluice_syntax::{Parsed, value};

use super::keys::{Key, key};
use super::values::owned;
use super::view::View;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("force-ssl-redirect", "false").full(),
    key("http-redirect-code", "308").full(),
    key("no-tls-redirect-locations", "/.well-known/acme-challenge").full(),
    key("preserve-trailing-slash", "false").full(),
    key("relative-redirects", "false").full(),
    key("ssl-redirect", "true").full(),
    key("use-port-in-redirects", "false").full(),
];

/// Redirects from http to https.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpsRedirects {
    /// When the host has a certificate.
    pub(crate) with_certificate: bool,
    /// Redirect even without TLS: it is terminated somewhere in front.
    pub(crate) always: bool,
    pub(crate) keep_trailing_slash: bool,
    pub(crate) port_in_url: bool,
}

/// Redirects that Ingresses do not ask for, and the form of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirects {
    pub(crate) https: HttpsRedirects,
    /// `http-redirect-code`: of redirects to https and from www.
    pub(crate) status: u16,
    /// `no-tls-redirect-locations`: prefixes of paths that are served over plain http.
    pub(crate) plain_http: Vec<String>,
    pub(crate) relative: bool,
}

impl Default for Redirects {
    fn default() -> Self {
        Redirects {
            https: HttpsRedirects {
                with_certificate: true,
                ..HttpsRedirects::default()
            },
            status: 308,
            plain_http: vec!["/.well-known/acme-challenge".to_owned()],
            relative: false,
        }
    }
}

impl Redirects {
    pub(super) fn take(&mut self, view: &mut View<'_, '_>) {
        let redirected = || (true, "plain http is redirected");
        view.strict(
            &mut self.https.with_certificate,
            "ssl-redirect",
            value::bool,
            redirected(),
        );
        view.strict(
            &mut self.https.always,
            "force-ssl-redirect",
            value::bool,
            redirected(),
        );
        view.set(
            &mut self.https.keep_trailing_slash,
            "preserve-trailing-slash",
            value::bool,
        );
        view.set(
            &mut self.https.port_in_url,
            "use-port-in-redirects",
            value::bool,
        );
        view.set(&mut self.status, "http-redirect-code", redirect_status);
        view.set(&mut self.plain_http, "no-tls-redirect-locations", |text| {
            Ok(owned(text))
        });
        view.set(&mut self.relative, "relative-redirects", value::bool);
    }
}

fn redirect_status(text: &str) -> Parsed<u16> {
    let known = [301, 302, 307, 308];
    known
        .into_iter()
        .find(|status: &u16| status.to_string() == text)
        .ok_or_else(|| "301, 302, 307 or 308".into())
}
