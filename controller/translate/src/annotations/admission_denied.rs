//! Annotations whose value ingress-nginx's webhook checks. Of the others it takes any value, and so do we: what was stored
//! before can be stored again.

/// Those whose parser hands a failed validation on, in the order of the catalogue.
const CHECKED: [&str; 35] = [
    "x-forwarded-prefix",
    "permanent-redirect",
    "permanent-redirect-code",
    "temporal-redirect",
    "temporal-redirect-code",
    "from-to-www-redirect",
    "relative-redirects",
    "auth-type",
    "auth-secret-type",
    "auth-realm",
    "auth-url",
    "auth-tls-error-page",
    "auth-tls-pass-certificate-to-upstream",
    "auth-tls-match-cn",
    "load-balance",
    "upstream-hash-by",
    "upstream-hash-by-subset",
    "upstream-hash-by-subset-size",
    "upstream-vhost",
    "default-backend",
    "custom-http-errors",
    "connection-proxy-header",
    "client-body-buffer-size",
    "server-alias",
    "fastcgi-index",
    "fastcgi-params-configmap",
    "http2-push-preload",
    "limit-connections",
    "limit-rps",
    "limit-rpm",
    "limit-allowlist",
    "limit-whitelist",
    "opentelemetry-operation-name",
    "ssl-ciphers",
    "ssl-passthrough",
];

/// True if admission denies an Ingress with a value that cannot be read.
pub(super) fn is_when_malformed(name: &str) -> bool {
    // No stored object has a bad value of an annotation that ingress-nginx does not have.
    CHECKED.contains(&name) || name.starts_with("sluice.dev/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotations::catalogue;

    #[test]
    fn every_one_is_an_annotation_of_the_catalogue() {
        let unknown: Vec<_> = CHECKED
            .iter()
            .filter(|name| catalogue::find(name).is_none())
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
