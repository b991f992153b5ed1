//! Versions of TLS.

use sluice_ir::TlsVersions;

use crate::value::Parsed;

/// nginx's `ssl_protocols`.
pub fn tls_versions(text: &str) -> Parsed<TlsVersions> {
    let mut versions = TlsVersions {
        v1_2: false,
        v1_3: false,
    };
    for word in text.split_whitespace() {
        match word {
            "TLSv1.2" => versions.v1_2 = true,
            "TLSv1.3" => versions.v1_3 = true,
            // The others of the list hold.
            obsolete if is_obsolete(obsolete) => {}
            _ => return Err("TLSv1.2, TLSv1.3 or both".into()),
        }
    }
    let any = versions.v1_2 || versions.v1_3;
    if any {
        Ok(versions)
    } else {
        Err("TLSv1.2, TLSv1.3 or both".into())
    }
}

/// True for versions of TLS that nginx knows and no data plane offers.
#[must_use]
pub fn is_obsolete(version: &str) -> bool {
    ["SSLv2", "SSLv3", "TLSv1", "TLSv1.1"].contains(&version)
}
