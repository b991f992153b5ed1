//! Random bytes of the kernel's: identifiers, many at a time, and a seed.

use std::cell::RefCell;

use rustix::rand::{GetRandomFlags, getrandom};

const ID: usize = 16;
/// The kernel fills as many as this at once, whatever signals come.
const IDS: usize = 16;

/// Bytes that nobody has had.
struct Unused {
    bytes: [u8; ID * IDS],
    left: usize,
}

const NONE: Unused = Unused {
    bytes: [0; ID * IDS],
    left: 0,
};

thread_local! {
    static UNUSED: RefCell<Unused> = const { RefCell::new(NONE) };
}

/// Forgets what the master may have left: its workers would all begin with the same bytes.
pub(crate) fn start() {
    UNUSED.set(NONE);
}

/// `None` if the kernel has no randomness.
pub(crate) fn id() -> Option<[u8; ID]> {
    UNUSED.with_borrow_mut(|unused| {
        if unused.left == 0 {
            let filled = getrandom(&mut unused.bytes[..], GetRandomFlags::empty()).ok()?;
            unused.left = filled / ID;
        }
        unused.left = unused.left.checked_sub(1)?;
        let (ids, _) = unused.bytes.as_chunks::<ID>();
        ids.get(unused.left).copied()
    })
}

/// Bytes that are no part of an identifier; `None` as of [`id`].
pub(crate) fn seed() -> Option<u64> {
    let mut seed = [0; 8];
    fill(&mut seed)?;
    Some(u64::from_ne_bytes(seed))
}

/// Fills a buffer; `None` as of [`id`].
pub(crate) fn fill(out: &mut [u8]) -> Option<()> {
    let filled = getrandom(&mut *out, GetRandomFlags::empty()).ok()?;
    (filled == out.len()).then_some(())
}
