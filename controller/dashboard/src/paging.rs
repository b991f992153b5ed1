//! Long lists, a page at a time.

/// Rows of a page.
pub(crate) const ROWS: usize = 50;

/// Number of the page that is asked for; the first, where it is no number.
pub(crate) fn number(text: &str) -> usize {
    text.parse().unwrap_or(1)
}

/// A part of a list.
pub(crate) struct Paged<T> {
    pub(crate) rows: Vec<T>,
    /// Rows of all pages.
    pub(crate) total: usize,
    /// The first page is 1.
    pub(crate) page: usize,
    pub(crate) pages: usize,
}

impl<T> Paged<T> {
    /// The page of this number, or the last one.
    pub(crate) fn new(all: impl ExactSizeIterator<Item = T>, page: usize) -> Self {
        let total = all.len();
        let pages = total.div_ceil(ROWS).max(1);
        let page = page.clamp(1, pages);
        Paged {
            rows: all.skip((page - 1) * ROWS).take(ROWS).collect(),
            total,
            page,
            pages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_on_one_page() {
        for total in [0, 1, ROWS, ROWS + 1, 3 * ROWS - 1] {
            let pages = Paged::new(0..total, 1).pages;
            let rows = (1..=pages).flat_map(|page| Paged::new(0..total, page).rows);
            assert!(rows.eq(0..total), "{total}");
        }
    }

    #[test]
    fn pages_that_are_not_there_are_the_nearest() {
        assert_eq!(Paged::new(0..120, 0).page, 1);
        assert_eq!(Paged::new(0..120, 99).page, 3);
        assert_eq!(Paged::new(0..0, 7).page, 1);
        assert_eq!(["", "-1", "x", "2"].map(number), [1, 1, 1, 2]);
    }
}
