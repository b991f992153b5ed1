//! End-to-end parts and tests of Sluice.
