//! Bytes of the page, and what of it tenants may fill: the parts are less than the whole.
//!
//! A row takes its labels, with their names, and for each line of it the name of the metric and 32 bytes (`Series::cost`).
//! docs/limits.md has the same numbers.

/// Bytes of a page of the controller's. As much is kept of pages that are read beside a new one.
pub(super) const PAGE: usize = 24 << 20;

/// For counts of requests: 15,900 label sets of 250 bytes, as a line takes 64 bytes beside them.
pub(super) const REQUESTS: usize = 5_000_000;
/// For durations of label sets of their own, and as much for those of paths.
pub(super) const DURATIONS: usize = 3_000_000;
/// For all other histograms, the same.
pub(super) const DETAILS: usize = 3_300_000;
/// For results of admission by name: those of some 3,000 Ingresses.
pub(super) const ADMISSION: usize = 1_500_000;
/// For each gauge with names of objects: some 1,500 of them.
pub(super) const OBJECTS: usize = 500_000;
/// For all certificates: some 6,000 hosts. Tenants choose hosts, Secrets and what is in them.
pub(super) const CERTIFICATES: usize = 4_000_000;

/// For all that tenants cannot add to: metrics of the controller itself, and `_other`. Most of it are counts of requests by
/// status and method, 810 lines at most.
const REST: usize = 500_000;

const _: () = assert!(
    REQUESTS + 2 * DURATIONS + 2 * DETAILS + ADMISSION + 3 * OBJECTS + CERTIFICATES + REST <= PAGE
);
