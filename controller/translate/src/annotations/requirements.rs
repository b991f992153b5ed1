//! Annotations that have no effect without another one, as in ingress-nginx.

use sluice_ir::ReasonCode;
use sluice_syntax::value;

use super::view::View;

/// Requirement of an annotation.
#[derive(Clone, Copy, Debug)]
pub enum Requirement {
    /// Any of these.
    Any(&'static [&'static str]),
    /// This switch, on.
    On(&'static str),
    /// This one with this value.
    Value(&'static str, &'static str),
}

const CANARY: Requirement = Requirement::On("canary");
const SESSION: Requirement = Requirement::Value("affinity", "cookie");
const PASSWORD: Requirement = Requirement::Any(&["auth-type"]);
const SERVICE: Requirement = Requirement::Any(&["auth-url"]);
const CERTIFICATE: Requirement = Requirement::Any(&["auth-tls-secret"]);
const UPSTREAM_TLS: Requirement = Requirement::Any(&["proxy-ssl-secret"]);
const CORS: Requirement = Requirement::On("enable-cors");
const RATE: Requirement = Requirement::Any(&["limit-rps", "limit-rpm", "limit-connections"]);

/// Annotations, each with its requirement.
pub static REQUIREMENTS: &[(&str, Requirement)] = &[
    ("affinity-mode", SESSION),
    ("auth-always-set-cookie", SERVICE),
    ("auth-cache-duration", Requirement::Any(&["auth-cache-key"])),
    ("auth-cache-key", SERVICE),
    ("auth-method", SERVICE),
    ("auth-proxy-set-headers", SERVICE),
    ("auth-realm", PASSWORD),
    ("auth-request-redirect", SERVICE),
    ("auth-secret", PASSWORD),
    ("auth-secret-type", PASSWORD),
    ("auth-signin", SERVICE),
    (
        "auth-signin-redirect-param",
        Requirement::Any(&["auth-signin"]),
    ),
    ("auth-tls-pass-certificate-to-upstream", CERTIFICATE),
    ("auth-tls-verify-depth", CERTIFICATE),
    ("canary-by-cookie", CANARY),
    ("canary-by-header", CANARY),
    (
        "canary-by-header-pattern",
        Requirement::Any(&["canary-by-header"]),
    ),
    (
        "canary-by-header-value",
        Requirement::Any(&["canary-by-header"]),
    ),
    ("canary-weight", CANARY),
    ("canary-weight-total", Requirement::Any(&["canary-weight"])),
    ("cors-allow-credentials", CORS),
    ("cors-allow-headers", CORS),
    ("cors-allow-methods", CORS),
    ("cors-allow-origin", CORS),
    ("cors-expose-headers", CORS),
    ("cors-max-age", CORS),
    ("limit-allowlist", RATE),
    ("limit-burst-multiplier", RATE),
    ("mirror-host", Requirement::Any(&["mirror-target"])),
    (
        "permanent-redirect-code",
        Requirement::Any(&["permanent-redirect"]),
    ),
    ("proxy-ssl-ciphers", UPSTREAM_TLS),
    ("proxy-ssl-name", UPSTREAM_TLS),
    ("proxy-ssl-protocols", UPSTREAM_TLS),
    ("proxy-ssl-server-name", UPSTREAM_TLS),
    ("proxy-ssl-verify-depth", UPSTREAM_TLS),
    ("session-cookie-change-on-failure", SESSION),
    ("session-cookie-conditional-samesite-none", SESSION),
    ("session-cookie-domain", SESSION),
    ("session-cookie-expires", SESSION),
    ("session-cookie-max-age", SESSION),
    ("session-cookie-name", SESSION),
    ("session-cookie-path", SESSION),
    ("session-cookie-samesite", SESSION),
    ("session-cookie-secure", SESSION),
    (
        "temporal-redirect-code",
        Requirement::Any(&["temporal-redirect"]),
    ),
    (
        "upstream-hash-by-subset",
        Requirement::Any(&["upstream-hash-by"]),
    ),
    (
        "upstream-hash-by-subset-size",
        Requirement::Any(&["upstream-hash-by"]),
    ),
];

impl View<'_, '_> {
    /// Notes what is written and has no effect, where nothing else was reported of it.
    pub(super) fn note_without_effect(&mut self) {
        for (name, requirement) in REQUIREMENTS {
            let has_effect = !self.values.contains_key(name) || self.meets(*requirement);
            if !has_effect && !self.reporter.is_reported(&self.field(name)) {
                let reason = format!("requires {}, which is not set", requirement.text());
                self.note(ReasonCode::NoEffect, name, reason, "no effect")
                    .same_as_ingress_nginx = true;
            }
        }
    }

    fn meets(&self, requirement: Requirement) -> bool {
        match requirement {
            Requirement::Any(names) => names.iter().any(|name| self.values.contains_key(name)),
            Requirement::On(name) => {
                let text = self.values.get(name);
                text.is_some_and(|text| value::bool(text).unwrap_or_default())
            }
            Requirement::Value(name, expected) => self.values.get(name) == Some(&expected),
        }
    }
}

impl Requirement {
    fn text(self) -> String {
        match self {
            Requirement::Any(names) => names.join(" or "),
            Requirement::On(name) => format!("{name}: \"true\""),
            Requirement::Value(name, value) => format!("{name}: {value}"),
        }
    }
}
