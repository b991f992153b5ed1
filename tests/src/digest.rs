//! A client of digest authentication: RFC 7616 with MD5 and `qop=auth`.

use anyhow::{Context as _, Result};
use md5::{Digest as _, Md5};

/// A user, as a file and its clients know one.
#[derive(Clone, Copy, Debug)]
pub struct User<'a> {
    /// The name.
    pub name: &'a str,
    /// The realm that the password is for.
    pub realm: &'a str,
    /// The password.
    pub password: &'a str,
}

impl User<'_> {
    /// Hash behind name and realm, as `htdigest` writes it.
    pub fn hash(&self) -> String {
        md5(&[self.name, self.realm, self.password])
    }

    /// Line of a file of users.
    pub fn line(&self) -> String {
        format!("{}:{}:{}\n", self.name, self.realm, self.hash())
    }

    /// `Authorization` for a request: the `count`th answer to the challenge.
    pub fn answer(
        &self,
        challenge: &str,
        method: &str,
        target: &str,
        count: u32,
    ) -> Result<String> {
        let nonce = challenge.split("nonce=\"").nth(1);
        let nonce = nonce
            .and_then(|rest| rest.split('"').next())
            .context("no nonce")?;
        let (hash, request) = (self.hash(), md5(&[method, target]));
        let count = format!("{count:08x}");
        let response = md5(&[&hash, nonce, &count, "c0ffee", "auth", &request]);
        let (name, realm) = (self.name, self.realm);
        Ok(format!(
            "Digest username=\"{name}\", realm=\"{realm}\", nonce=\"{nonce}\", uri=\"{target}\", \
             response=\"{response}\", algorithm=MD5, qop=auth, nc={count}, cnonce=\"c0ffee\""
        ))
    }
}

fn md5(texts: &[&str]) -> String {
    let digest = Md5::digest(texts.join(":"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
