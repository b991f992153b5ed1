//! Certificates: when they end, and if an authority vouches for them.

use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use sluice_syntax::CertInfo;

const DAY: i64 = 24 * 3600;

/// Time that a certificate has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// More than enough.
    Enough,
    /// So many days.
    Days(i64),
    /// None, for so many days.
    Ended(i64),
}

impl Left {
    /// Time left of the first of these certificates that ends; `None`: there is none.
    pub(crate) fn of_chain(pem: &str, now: i64, enough: u32) -> Option<Left> {
        let left = CertInfo::from_pem(pem)?.expires - now;
        Some(match left {
            left if left < 0 => Left::Ended(-left / DAY),
            left if left <= i64::from(enough) * DAY => Left::Days(left / DAY),
            _ => Left::Enough,
        })
    }

    /// `ends in 3 days`.
    pub(crate) fn words(self) -> String {
        let days = |count| match count {
            1 => "1 day".to_owned(),
            count => format!("{count} days"),
        };
        match self {
            Left::Enough => "is valid".to_owned(),
            Left::Days(0) => "ends today".to_owned(),
            Left::Days(count) => format!("ends in {}", days(count)),
            Left::Ended(0) => "has ended today".to_owned(),
            Left::Ended(count) => format!("ended {} ago", days(count)),
        }
    }
}

/// Verifies as the API server does before it asks a webhook: the chain leads to one of the authorities, is valid now, and has the
/// name.
pub(crate) fn verify(chain: &str, authorities: &str, name: &str, now: i64) -> Result<(), String> {
    let certificates = |pem: &str| {
        let all = CertificateDer::pem_slice_iter(pem.as_bytes());
        all.collect::<Result<Vec<_>, _>>()
    };
    let unreadable = |what: &str| format!("{what} cannot be read");
    let chain = certificates(chain).map_err(|_| unreadable("the certificate"))?;
    let (leaf, rest) = chain.split_first().ok_or("there is no certificate")?;
    let authorities = certificates(authorities).map_err(|_| unreadable("the authority"))?;
    // Go, which the API server is written in, believes a certificate that is itself among its authorities.
    if authorities.contains(leaf) {
        return Ok(());
    }
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots
            .add(authority)
            .map_err(|_| unreadable("the authority"))?;
    }
    let provider = Arc::new(default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|_| "there is no authority")?;
    let name = ServerName::try_from(name).map_err(|_| format!("{name}: no host name"))?;
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now.try_into().unwrap_or_default()));
    match verifier.verify_server_cert(leaf, rest, &name, &[], now) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

    use super::*;

    const NAME: &str = "sluice-controller.sluice-system.svc";
    /// 2030-01-01.
    const NOW: i64 = 1_893_456_000;

    fn authority() -> (String, Issuer<'static, KeyPair>) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2040, 1, 1);
        let pem = params.self_signed(&key).unwrap().pem();
        (pem, Issuer::new(params, key))
    }

    fn signed(issuer: &Issuer<'static, KeyPair>, name: &str) -> String {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2030, 1, 11);
        params.signed_by(&key, issuer).unwrap().pem()
    }

    #[test]
    fn the_api_server_s_reasons_are_found() {
        let ((trusted, issuer), (other, stranger)) = (authority(), authority());
        let certificate = signed(&issuer, NAME);
        assert_eq!(verify(&certificate, &trusted, NAME, NOW), Ok(()));
        let both = format!("{other}{trusted}");
        assert_eq!(verify(&certificate, &both, NAME, NOW), Ok(()));
        assert_eq!(verify(&certificate, &certificate, NAME, NOW), Ok(()));
        for (chain, authorities, name, now) in [
            (&certificate, &other, NAME, NOW),
            (&signed(&stranger, NAME), &trusted, NAME, NOW),
            (&signed(&issuer, "other.svc"), &trusted, NAME, NOW),
            (&certificate, &trusted, NAME, NOW + 11 * DAY),
            (&certificate, &trusted, "\u{1b}[2J", NOW),
            (&String::new(), &trusted, NAME, NOW),
            (&certificate, &String::new(), NAME, NOW),
            (&certificate, &"x".to_owned(), NAME, NOW),
        ] {
            assert!(
                verify(chain, authorities, name, now).is_err(),
                "{name} {now}"
            );
        }
    }

    #[test]
    fn the_end_of_a_certificate_is_told_in_days() {
        let (_, issuer) = authority();
        let pem = signed(&issuer, NAME);
        for (day, enough, words) in [
            (0, 9, "is valid"),
            (0, 10, "ends in 10 days"),
            (9, 21, "ends in 1 day"),
            (10, 21, "ends today"),
            (12, 21, "ended 2 days ago"),
        ] {
            let left = Left::of_chain(&pem, NOW + day * DAY, enough).unwrap();
            assert_eq!(left.words(), words, "{day} {enough}");
        }
        assert_eq!(Left::of_chain("x", NOW, 21), None);
    }
}
