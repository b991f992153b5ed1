//! Annotations that have no effect without another one, as in ingress-nginx.

use sluice_ir::ReasonCode;
use sluice_syntax::value;

use super::view::View;

/// Requirement of an annotation.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// Any of these.
    Any(&'static [&'static str]),
    /// This switch, on.
    On(&'static str),
    /// This one with this value.
    Value(&'static str, &'static str),
}

const CANARY: Need = Need::On("canary");
const SESSION: Need = Need::Value("affinity", "cookie");
const PASSWORD: Need = Need::Any(&["auth-type"]);
const SERVICE: Need = Need::Any(&["auth-url"]);
const CERTIFICATE: Need = Need::Any(&["auth-tls-secret"]);
const CORS: Need = Need::On("enable-cors");
const RATE: Need = Need::Any(&["limit-rps", "limit-rpm", "limit-connections"]);

/// Annotations, each with what it needs.
pub static NEEDS: &[(&str, Need)] = &[
    ("affinity-mode", SESSION),
    ("auth-always-set-cookie", SERVICE),
    ("auth-cache-duration", SERVICE),
    ("auth-cache-key", SERVICE),
    ("auth-method", SERVICE),
    ("auth-proxy-set-headers", SERVICE),
    ("auth-realm", PASSWORD),
    ("auth-request-redirect", SERVICE),
    ("auth-secret", PASSWORD),
    ("auth-secret-type", PASSWORD),
    ("auth-signin", SERVICE),
    ("auth-signin-redirect-param", Need::Any(&["auth-signin"])),
    ("auth-tls-match-cn", CERTIFICATE),
    ("auth-tls-pass-certificate-to-upstream", CERTIFICATE),
    ("auth-tls-verify-depth", CERTIFICATE),
    ("canary-by-cookie", CANARY),
    ("canary-by-header", CANARY),
    ("canary-by-header-pattern", Need::Any(&["canary-by-header"])),
    ("canary-by-header-value", Need::Any(&["canary-by-header"])),
    ("canary-weight", CANARY),
    ("canary-weight-total", Need::Any(&["canary-weight"])),
    ("cors-allow-credentials", CORS),
    ("cors-allow-headers", CORS),
    ("cors-allow-methods", CORS),
    ("cors-allow-origin", CORS),
    ("cors-expose-headers", CORS),
    ("cors-max-age", CORS),
    ("limit-allowlist", RATE),
    ("limit-burst-multiplier", RATE),
    ("mirror-host", Need::Any(&["mirror-target"])),
    (
        "permanent-redirect-code",
        Need::Any(&["permanent-redirect"]),
    ),
    ("session-cookie-change-on-failure", SESSION),
    ("session-cookie-conditional-samesite-none", SESSION),
    ("session-cookie-domain", SESSION),
    ("session-cookie-expires", SESSION),
    ("session-cookie-max-age", SESSION),
    ("session-cookie-name", SESSION),
    ("session-cookie-path", SESSION),
    ("session-cookie-samesite", SESSION),
    ("session-cookie-secure", SESSION),
    ("temporal-redirect-code", Need::Any(&["temporal-redirect"])),
    ("upstream-hash-by-subset", Need::Any(&["upstream-hash-by"])),
    (
        "upstream-hash-by-subset-size",
        Need::Any(&["upstream-hash-by"]),
    ),
];

impl View<'_, '_> {
    /// Notes what is written and has no effect.
    pub(super) fn note_useless(&mut self) {
        for (name, need) in NEEDS {
            if self.values.contains_key(name) && !self.has(*need) {
                let reason = format!("expected {} beside it, got none", need.text());
                self.note(ReasonCode::NoEffect, name, reason, "no effect")
                    .same_as_ingress_nginx = true;
            }
        }
    }

    fn has(&self, need: Need) -> bool {
        match need {
            Need::Any(names) => names.iter().any(|name| self.values.contains_key(name)),
            Need::On(name) => {
                let text = self.values.get(name);
                text.is_some_and(|text| value::bool(text).unwrap_or_default())
            }
            Need::Value(name, expected) => self.values.get(name) == Some(&expected),
        }
    }
}

impl Need {
    fn text(self) -> String {
        match self {
            Need::Any(names) => names.join(" or "),
            Need::On(name) => format!("{name}: \"true\""),
            Need::Value(name, value) => format!("{name}: {value}"),
        }
    }
}
