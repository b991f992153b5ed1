//! Cache of verified passwords, so that a slow hash is computed once and not for each request.
//!
//! It holds keyed digests: memory reveals no password. The version of the file is part of the digest, so a changed file
//! invalidates its entries.

use std::fmt;

use sha2::{Digest, Sha256};
use sluice_fair::{FairCache, Key};

use crate::{Credentials, Version};

/// Proof that a user gave the right password for a file.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Proof(Key);

/// Proofs, as many as there is room for: of each tenant, those that were not asked for lately go first.
pub struct Remembered {
    key: [u8; 32],
    proofs: FairCache<()>,
}

impl Remembered {
    /// `key` is random, and this process's alone. At most so many bytes.
    #[must_use]
    pub fn new(key: [u8; 32], budget: usize) -> Self {
        Remembered {
            key,
            proofs: FairCache::new(budget),
        }
    }

    /// Proof of the right password.
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

    /// True if it was added before, and not too long ago.
    pub fn knows(&mut self, tenant: &str, proof: &Proof) -> bool {
        self.proofs.get(tenant, &proof.0).is_some()
    }

    /// Keeps it for as long as it is asked for.
    pub fn add(&mut self, tenant: &str, proof: &Proof) {
        self.proofs.insert(tenant, proof.0, (), 0);
    }

    /// Bytes that are used now.
    #[must_use]
    pub fn used(&self) -> usize {
        self.proofs.used()
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
            .field("proofs", &self.proofs)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Users;

    fn credentials(user: &str, password: &str) -> Credentials {
        Credentials {
            user: user.into(),
            password: password.into(),
        }
    }

    #[test]
    fn a_proof_is_of_one_file_one_user_and_one_password() {
        let remembered = Remembered::new([7; 32], 4096);
        let (old, new) = (
            Users::parse("a:{PLAIN}b").version(),
            Users::parse("a:{PLAIN}c").version(),
        );
        let proof = remembered.proof(old, &credentials("a", "bc"));
        assert_eq!(remembered.proof(old, &credentials("a", "bc")), proof);
        assert_ne!(remembered.proof(new, &credentials("a", "bc")), proof);
        assert_ne!(remembered.proof(old, &credentials("ab", "c")), proof);
        assert_ne!(
            Remembered::new([8; 32], 4096).proof(old, &credentials("a", "bc")),
            proof
        );
    }

    #[test]
    fn a_tenant_with_many_users_forgets_nobody_elses() {
        const BUDGET: usize = 64 << 10;
        let mut remembered = Remembered::new([0; 32], BUDGET);
        let version = Users::parse("").version();
        let proof = |remembered: &Remembered, n: usize| {
            remembered.proof(version, &credentials("a", &n.to_string()))
        };
        let mine = proof(&remembered, 0);
        remembered.add("shop", &mine);
        for n in 1..5000 {
            let other = proof(&remembered, n);
            remembered.add("crowd", &other);
            assert!(remembered.knows("crowd", &other) && remembered.used() <= BUDGET);
        }
        assert!(remembered.knows("shop", &mine) && !remembered.knows("crowd", &mine));
        let first = proof(&remembered, 1);
        assert!(!remembered.knows("crowd", &first));
    }
}
