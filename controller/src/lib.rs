//! The Sluice controller.
