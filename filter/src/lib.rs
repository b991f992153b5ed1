//! The proxy-wasm filter: a thin shell that lets the core talk to a host.
