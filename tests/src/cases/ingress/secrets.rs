//! Secrets: `tls for HOST`, an authority, or the data with its hashes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use regex::Regex;
use sha1::{Digest, Sha1};

use super::action::Kind;
use super::certificates::Authorities;
use super::model::{Key, Model, PREFIX};
use super::schema::Secret;

/// The cheapest that bcrypt allows; the cases ask whether a password is right, not how long that takes.
const BCRYPT_COST: u32 = 4;

/// The data of a Secret, in plain text.
pub type Data = BTreeMap<String, String>;

/// Makes Secrets, each once: a certificate stays the same until its words change.
#[derive(Default)]
pub struct Secrets {
    /// Of all certificates.
    pub authorities: Authorities,
    made: BTreeMap<(String, String), Data>,
}

impl Secrets {
    /// Every Secret of a case.
    pub fn of(&mut self, model: &Model) -> Result<Vec<(Key, Data)>> {
        let mut secrets = Vec::new();
        let listed = model.given.secrets.iter();
        for (name, secret) in listed.filter(|(name, _)| !model.is_missing(Kind::Secret, name)) {
            let data = self
                .data(name, secret)
                .with_context(|| format!("secret {name:?}"))?;
            for namespace in model.namespaces_of(name) {
                secrets.push((Key::parse(name, &namespace), data.clone()));
            }
        }
        for key in unlisted_authorities(model) {
            let certificate = self.authorities.certificate(&key.name)?;
            secrets.push((key, Data::from([("ca.crt".to_owned(), certificate)])));
        }
        Ok(secrets)
    }

    fn data(&mut self, name: &str, secret: &Secret) -> Result<Data> {
        let made = (name.to_owned(), format!("{secret:?}"));
        if let Some(data) = self.made.get(&made) {
            return Ok(data.clone());
        }
        let data = match secret {
            Secret::Words(words) => self.described(name, words)?,
            Secret::Data(data) => {
                let plain =
                    |(key, value): (&String, &String)| Ok((key.clone(), self.plain(name, value)?));
                data.iter().map(plain).collect::<Result<Data>>()?
            }
        };
        self.made.insert(made, data.clone());
        Ok(data)
    }

    /// `tls for HOST[, HOST] [signed by NAME] [with ca [NAME]]`, `ca [NAME]`.
    fn described(&mut self, name: &str, words: &str) -> Result<Data> {
        let mut data = Data::new();
        let (tls, authority) = match words.split_once("with ca") {
            Some((tls, authority)) => (Some(tls), Some(authority)),
            None if words.starts_with("tls for") => (Some(words), None),
            None => (None, words.strip_prefix("ca")),
        };
        if let Some(tls) = tls {
            ensure!(
                tls.trim().starts_with("tls for "),
                "expected `tls for HOST`, got {tls:?}"
            );
            let pair = self.authorities.described(tls)?;
            data.extend([
                ("tls.crt".to_owned(), pair.certificate),
                ("tls.key".to_owned(), pair.key),
            ]);
        }
        if let Some(authority) = authority {
            let authority = authority.trim();
            let authority = if authority.is_empty() {
                name
            } else {
                authority
            };
            data.insert(
                "ca.crt".to_owned(),
                self.authorities.certificate(authority)?,
            );
        }
        if data.is_empty() {
            bail!("expected `tls for HOST`, `ca`, or data, got {words:?}");
        }
        Ok(data)
    }

    /// `<bcrypt x>`, `<sha1 x>` and `<md5 x>` are hashes of x, `<ca NAME>` is an authority's certificate.
    fn plain(&mut self, name: &str, value: &str) -> Result<String> {
        let bcrypt = Regex::new("<bcrypt ([^>]*)>")?;
        let mut plain = value.to_owned();
        for found in bcrypt.captures_iter(value) {
            let hash = bcrypt::hash_with_result(&found[1], BCRYPT_COST)?
                .format_for_version(bcrypt::Version::TwoY);
            plain = plain.replace(&found[0], &hash);
        }
        let digest = Regex::new("<(sha1|md5) ([^>]*)>")?;
        for found in digest.captures_iter(value) {
            let hash = match &found[1] {
                "sha1" => format!("{{SHA}}{}", BASE64.encode(Sha1::digest(&found[2]))),
                _ => apr1(&found[2])?,
            };
            plain = plain.replace(&found[0], &hash);
        }
        let authority = Regex::new("<ca ?([^>]*)>")?;
        for found in authority.captures_iter(value) {
            let of = if found[1].is_empty() { name } else { &found[1] };
            plain = plain.replace(&found[0], &self.authorities.certificate(of)?);
        }
        Ok(plain)
    }
}

#[expect(
    deprecated,
    reason = "htpasswd writes it by default, so users of Sluice have it"
)]
fn apr1(password: &str) -> Result<String> {
    Ok(crypt3_rs::crypt::apr1::hash_with("$apr1$saltsalt$", password)?.to_string())
}

/// The authorities that annotations name: every case may use the authority `ca` without describing it.
fn unlisted_authorities(model: &Model) -> Vec<Key> {
    let named = model.given.ingresses.iter().filter_map(|ingress| {
        let name = ingress
            .annotations
            .get(&format!("{PREFIX}auth-tls-secret"))?;
        Some(Key::parse(name, ingress.namespace()))
    });
    let is_authority = |key: &Key| key.name == "ca";
    let listed = |key: &Key| super::model::find(&model.given.secrets, key).is_some();
    let mut keys: Vec<Key> = named
        .filter(|key| is_authority(key) && !listed(key))
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_hashes_become_data() {
        let mut secrets = Secrets::default();
        let mut words = |words: &str| secrets.data("s", &Secret::Words(words.to_owned()));
        assert_eq!(
            words("tls for a.example")
                .unwrap()
                .keys()
                .collect::<Vec<_>>(),
            ["tls.crt", "tls.key"]
        );
        assert_eq!(words("tls for a.example with ca").unwrap().len(), 3);
        assert_eq!(words("ca").unwrap().keys().collect::<Vec<_>>(), ["ca.crt"]);
        assert!(words("something else").is_err());
        let data = Data::from([("auth".to_owned(), "foo:<bcrypt bar>".to_owned())]);
        let made = secrets.data("s", &Secret::Data(data.clone())).unwrap();
        let hash = made["auth"].strip_prefix("foo:").unwrap();
        assert!(bcrypt::verify("bar", hash).unwrap(), "{hash}");
        assert_eq!(
            secrets.data("s", &Secret::Data(data)).unwrap(),
            made,
            "it is made once"
        );
    }
}
