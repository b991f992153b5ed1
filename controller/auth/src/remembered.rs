//! Passwords that were right, so that a slow hash is computed once and not for each request.
//!
//! What is kept is a keyed digest: who reads the memory learns no password from it, and a file that changes takes all of
//! its old answers along, because its version is part of the digest.

use std::collections::HashSet;
use std::fmt;

use sha2::{Digest, Sha256};

use crate::{Credentials, Version};

/// That somebody has given the right password for a file.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Proof([u8; 32]);

/// At most so many proofs; those that were not asked for lately go first.
pub struct Remembered {
    key: [u8; 32],
    /// Half of them, at most.
    most: usize,
    lately: HashSet<Proof>,
    before: HashSet<Proof>,
}

impl Remembered {
    /// `key` is random, and this process's alone.
    #[must_use]
    pub fn new(key: [u8; 32], most: usize) -> Self {
        let (lately, before) = Default::default();
        Remembered { key, most: most / 2, lately, before }
    }

    /// What the right password proves.
    #[must_use]
    pub fn proof(&self, version: Version, credentials: &Credentials) -> Proof {
        let Credentials { user, password } = credentials;
        let digest = Sha256::new()
            .chain_update(self.key)
            .chain_update(version.as_bytes())
            .chain_update((user.len() as u64).to_be_bytes())
            .chain_update(user)
            .chain_update(password);
        Proof(digest.finalize().into())
    }

    /// Whether it was added before, and not too long ago.
    pub fn knows(&mut self, proof: &Proof) -> bool {
        if self.lately.contains(proof) {
            return true;
        }
        let known = self.before.remove(proof);
        if known {
            self.add(proof.clone());
        }
        known
    }

    /// Keeps it for as long as it is asked for.
    pub fn add(&mut self, proof: Proof) {
        if self.lately.len() >= self.most {
            self.before = std::mem::take(&mut self.lately);
        }
        self.lately.insert(proof);
    }
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Debug for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remembered")
            .field("count", &(self.lately.len() + self.before.len()))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Users;

    fn credentials(user: &str, password: &str) -> Credentials {
        Credentials { user: user.into(), password: password.into() }
    }

    #[test]
    fn a_proof_is_of_one_file_one_user_and_one_password() {
        let remembered = Remembered::new([7; 32], 8);
        let (old, new) = (Users::parse("a:{PLAIN}b").version(), Users::parse("a:{PLAIN}c").version());
        let proof = remembered.proof(old, &credentials("a", "bc"));
        assert_eq!(remembered.proof(old, &credentials("a", "bc")), proof);
        assert_ne!(remembered.proof(new, &credentials("a", "bc")), proof);
        assert_ne!(remembered.proof(old, &credentials("ab", "c")), proof);
        assert_ne!(Remembered::new([8; 32], 8).proof(old, &credentials("a", "bc")), proof);
    }

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let mut remembered = Remembered::new([0; 32], 8);
        let version = Users::parse("").version();
        let proofs: Vec<Proof> =
            (0..64).map(|n| remembered.proof(version, &credentials("a", &n.to_string()))).collect();
        for proof in &proofs {
            remembered.add(proof.clone());
            assert!(remembered.knows(&proofs[0]), "it is asked for each time");
            assert!(remembered.lately.len() + remembered.before.len() <= 8);
        }
        assert!(!remembered.knows(&proofs[1]));
    }
}
