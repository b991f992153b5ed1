//! Random bytes.

use std::fs::File;
use std::io::Read as _;

use anyhow::Context as _;

/// A random key, never shared.
pub(crate) fn random_key() -> anyhow::Result<[u8; 32]> {
    let mut key = [0; 32];
    let mut random = File::open("/dev/urandom").context("/dev/urandom")?;
    random.read_exact(&mut key).context("/dev/urandom")?;
    Ok(key)
}
