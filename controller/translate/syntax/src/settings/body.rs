//! Sizes of bodies and their buffers.

use crate::value::{self, Parsed};

/// Documented sizes of one buffer.
pub const BUFFER_SIZES: &str = "from 1k to 8m";

/// Documented numbers of buffers.
pub const BUFFER_COUNTS: &str = "from 2 to 1024";

/// nginx: 0 is no limit. It knows no suffix `b`, so with one its own default holds.
pub fn max_body_size(text: &str) -> Parsed<Option<u64>> {
    const NGINX: u64 = 1 << 20;
    match value::size(text)? {
        _ if text.ends_with(['b', 'B']) => Ok(Some(NGINX)),
        0 => Ok(None),
        bytes => Ok(Some(bytes)),
    }
}

/// Of a body, in memory. More than this is no protection of anybody.
pub fn memory_size(text: &str) -> Parsed<u64> {
    const MOST: u64 = 64 << 20;
    let bytes = value::size(text)?;
    if (1..=MOST).contains(&bytes) {
        Ok(bytes)
    } else {
        Err("a size from 1 to 64m".into())
    }
}

/// One buffer, in bytes.
pub fn buffer_size(text: &str) -> Parsed<u64> {
    let bytes = value::size(text)?;
    if (1 << 10..=8 << 20).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!("a size {BUFFER_SIZES}").into())
    }
}

/// Number of buffers.
pub fn buffer_count(text: &str) -> Parsed<u32> {
    let number = value::count(text)?;
    if (2..=1024).contains(&number) {
        Ok(number)
    } else {
        Err(format!("an integer {BUFFER_COUNTS}").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(max_body_size("0"), Ok(None));
        assert_eq!(max_body_size("8m"), Ok(Some(8 << 20)));
        assert_eq!(max_body_size("5b"), Ok(Some(1 << 20)));
        assert!(max_body_size("8mb").is_err());
    }

    #[test]
    fn what_nginx_could_not_keep_is_no_size() {
        assert_eq!(
            (buffer_size("16k"), buffer_count("8")),
            (Ok(16 << 10), Ok(8))
        );
        for bad in ["0", "1", "1g", "-1", "x"] {
            assert!(buffer_size(bad).is_err(), "{bad}");
        }
        for bad in ["0", "1", "-4", "1025", "4k"] {
            assert!(buffer_count(bad).is_err(), "{bad}");
        }
    }
}
