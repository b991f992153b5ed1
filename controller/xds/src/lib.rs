//! The IR to Envoy's resources, and the delta ADS server.
