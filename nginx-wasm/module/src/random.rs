//! Random identifiers: bytes of the kernel's, many at a time.

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

thread_local! {
    // The master evaluates no variables, so no two workers begin with the same bytes.
    static UNUSED: RefCell<Unused> = const {
        RefCell::new(Unused {
            bytes: [0; ID * IDS],
            left: 0,
        })
    };
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
