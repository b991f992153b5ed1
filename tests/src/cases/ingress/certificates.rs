//! Certificates of a case: servers', clients', and the authorities that sign them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::tls::Identity;

/// A certificate and its key as a Secret holds them.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl Pair {
    /// For a TLS handshake.
    pub fn identity(&self) -> Result<Identity> {
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(self.certificate.as_bytes()).collect();
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).context("key")?;
        Ok(Identity {
            chain: chain.context("certificate")?,
            key,
        })
    }
}

/// The authorities of a case, each made when it is first needed.
#[derive(Default)]
pub struct Authorities(BTreeMap<String, Authority>);

struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authorities {
    /// The certificate of an authority, in PEM.
    pub fn certificate(&mut self, name: &str) -> Result<String> {
        Ok(self.authority(name)?.certificate.clone())
    }

    /// A certificate for these hosts, signed by nobody that anybody knows. The first is the common name.
    pub fn server(hosts: &[String]) -> Result<Pair> {
        let mut params = CertificateParams::new(hosts.to_vec())?;
        params.distinguished_name = name(hosts.first().map_or("", String::as_str));
        let key = KeyPair::generate()?;
        Ok(Pair {
            certificate: params.self_signed(&key)?.pem(),
            key: key.serialize_pem(),
        })
    }

    /// The same, of which the time is over.
    pub fn expired(host: &str) -> Result<Pair> {
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        params.not_before = rcgen::date_time_ymd(2019, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        let key = KeyPair::generate()?;
        Ok(Pair {
            certificate: params.self_signed(&key)?.pem(),
            key: key.serialize_pem(),
        })
    }

    /// A server's certificate in words: `HOST`, `tls for HOST`, `CN=HOST`; behind it may stand who signed it, as
    /// `signed by ca`, `signed by NAME` or `;CA=NAME`.
    pub fn described(&mut self, words: &str) -> Result<Pair> {
        let (hosts, signer) = match words
            .split_once(" signed by ")
            .or_else(|| words.split_once(";CA="))
        {
            Some((hosts, signer)) => (hosts, Some(signer.trim())),
            None => (words, None),
        };
        let hosts = hosts.trim();
        let hosts = hosts
            .strip_prefix("tls for ")
            .or(hosts.strip_prefix("CN="))
            .unwrap_or(hosts);
        let hosts = hosts.replace(" and ", ",");
        let hosts = hosts
            .split([',', ' '])
            .filter(|host| !host.is_empty())
            .map(str::to_owned);
        let hosts: Vec<String> = hosts.collect();
        let Some(signer) = signer else {
            return Authorities::server(&hosts);
        };
        let signer = signer.strip_prefix("ca ").unwrap_or(signer);
        let mut params = CertificateParams::new(hosts.clone())?;
        params.distinguished_name = name(hosts.first().map_or("", String::as_str));
        let key = KeyPair::generate()?;
        let certificate = params
            .signed_by(&key, &self.authority(signer)?.issuer)?
            .pem();
        Ok(Pair {
            certificate,
            key: key.serialize_pem(),
        })
    }

    /// A client's certificate: `CN=x`, signed by the authority `ca`, or `CN=x;CA=other`.
    pub fn client(&mut self, words: &str) -> Result<Pair> {
        let part = |wanted: &str| {
            let parts = words
                .split([';', ','])
                .filter_map(|part| part.trim().split_once('='));
            parts
                .filter(|(key, _)| key.eq_ignore_ascii_case(wanted))
                .map(|(_, value)| value)
                .next()
        };
        let common_name =
            part("CN").with_context(|| format!("expected CN=NAME[;CA=NAME], got {words:?}"))?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = name(common_name);
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let authority = self.authority(part("CA").unwrap_or("ca"))?;
        let certificate = params.signed_by(&key, &authority.issuer)?.pem();
        Ok(Pair {
            certificate,
            key: key.serialize_pem(),
        })
    }

    fn authority(&mut self, name: &str) -> Result<&Authority> {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), Authority::new(name)?);
        }
        self.0.get(name).context("an authority that was just made")
    }
}

impl Authority {
    fn new(common_name: &str) -> Result<Authority> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = name(common_name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Authority {
            certificate,
            issuer: Issuer::new(params, key),
        })
    }
}

fn name(common_name: &str) -> rcgen::DistinguishedName {
    let mut name = rcgen::DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

/// Subject and issuer of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The common name.
    pub common_name: String,
    /// The DNS names, in their order.
    pub dns: Vec<String>,
}

impl Owner {
    /// Reads a certificate in DER.
    pub fn of(certificate: &[u8]) -> Result<Owner> {
        let (_, certificate) = X509Certificate::from_der(certificate).context("certificate")?;
        let common_name = certificate.subject().iter_common_name().next();
        let names = certificate
            .subject_alternative_name()?
            .map(|names| &names.value.general_names);
        let dns = names.into_iter().flatten().filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        });
        let common_name = common_name
            .and_then(|name| name.as_str().ok())
            .unwrap_or_default();
        Ok(Owner {
            common_name: common_name.to_owned(),
            dns: dns.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(pair: &Pair) -> Owner {
        Owner::of(&pair.identity().unwrap().chain[0]).unwrap()
    }

    #[test]
    fn certificates_say_whose_they_are() {
        let hosts = ["a.example".to_owned(), "*.b.example".to_owned()];
        let server = owner(&Authorities::server(&hosts).unwrap());
        assert_eq!(
            server,
            Owner {
                common_name: "a.example".to_owned(),
                dns: hosts.to_vec()
            }
        );
        let mut authorities = Authorities::default();
        for words in [
            "tls for a.example, *.b.example",
            "a.example and *.b.example signed by ca",
        ] {
            assert_eq!(
                owner(&authorities.described(words).unwrap()),
                server,
                "{words}"
            );
        }
        let client = authorities.client("CN=alice;CA=other").unwrap();
        assert_eq!(owner(&client).common_name, "alice");
        assert!(authorities.client("alice").is_err());
    }
}
