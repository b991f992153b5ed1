//! The IR to the filter's plugin configuration.
