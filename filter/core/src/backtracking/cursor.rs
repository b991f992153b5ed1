//! The rest of a pattern.

/// It is read from its beginning.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'p>(pub(super) &'p [u8]);

impl Cursor<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// True if it began with this.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text.as_bytes());
        rest.map(|rest| self.0 = rest).is_some()
    }

    /// `None`: there is none.
    pub(super) fn number(&mut self, most: u32) -> Result<Option<u32>, String> {
        let mut number = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let sum = number.unwrap_or(0) * 10 + u32::from(digit - b'0');
            if sum > most {
                return Err(format!("more than {most} repetitions"));
            }
            number = Some(sum);
            self.next();
        }
        Ok(number)
    }
}
