//! Certificates that ask for a stapled OCSP response, which nobody fetches: nginx presents them without one, as ingress-nginx does.

use sluice_syntax::certificate::CertificatePair;

use crate::{DataPlane, Options};

/// Envoy refuses such a certificate, with everything around it. The error is a report's reason.
pub(crate) fn presentable<'a>(
    pair: &'a CertificatePair,
    options: &Options,
) -> Result<&'a CertificatePair, &'static str> {
    if pair.must_staple() && options.data_plane != Some(DataPlane::Nginx) {
        return Err(
            "expected a certificate that Envoy may present without a stapled OCSP response, got one with must-staple",
        );
    }
    Ok(pair)
}
