//! What people add to an Ingress.
//!
//! Nothing is ignored in silence. An annotation that guards access and cannot be honoured closes the locations of
//! its Ingress; any other one that cannot be honoured is reported by name.

use k8s_openapi::api::networking::v1::Ingress;

use crate::Severity;
use crate::report::Reporter;

const PREFIX: &str = "nginx.ingress.kubernetes.io/";

/// Annotations that decide who may come in. Serving without them would open what their owner closed.
const GUARDS: [&str; 24] = [
    "allowlist-source-range",
    "auth-always-set-cookie",
    "auth-cache-duration",
    "auth-cache-key",
    "auth-keepalive",
    "auth-method",
    "auth-proxy-set-headers",
    "auth-realm",
    "auth-request-redirect",
    "auth-response-headers",
    "auth-secret",
    "auth-secret-type",
    "auth-signin",
    "auth-signin-redirect-param",
    "auth-snippet",
    "auth-tls-match-cn",
    "auth-tls-secret",
    "auth-tls-verify-client",
    "auth-tls-verify-depth",
    "auth-type",
    "auth-url",
    "denylist-source-range",
    "satisfy",
    "whitelist-source-range",
];

/// Annotations that change what a path means: taken literally, the path would match something else.
const PATH_MEANING: [&str; 2] = ["rewrite-target", "use-regex"];

/// What the annotations of one Ingress come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Annotations {
    /// Something that guards access cannot be honoured: nothing gets through.
    pub(crate) denied: bool,
    /// The paths mean something that cannot be expressed: they are not served.
    pub(crate) paths_unreadable: bool,
}

impl Annotations {
    pub(crate) fn of(ingress: &Ingress, reporter: &mut Reporter<'_>) -> Self {
        let mut annotations = Annotations::default();
        for key in ingress.metadata.annotations.iter().flat_map(|all| all.keys()) {
            let Some(name) = key.strip_prefix(PREFIX) else { continue };
            annotations.take(name, reporter);
        }
        annotations
    }

    fn take(&mut self, name: &str, reporter: &mut Reporter<'_>) {
        let field = format!("annotation {}", crate::object::shortened(name));
        let reason = "expected an annotation that Sluice supports";
        if GUARDS.contains(&name) {
            self.denied = true;
            reporter.say(Severity::Error, field, reason, "it guards access, so its locations answer 503");
        } else if PATH_MEANING.contains(&name) {
            self.paths_unreadable = true;
            reporter.say(
                Severity::Error,
                field,
                reason,
                "it changes what paths mean, so they are not served",
            );
        } else {
            reporter.say(Severity::Warning, field, reason, "served without it");
        }
    }
}
