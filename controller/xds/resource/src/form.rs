//! The filter comes in two forms; an Envoy says which one it takes.

/// In the metadata of a node: the form of the filter that it takes, `module` or none.
pub const FILTER_METADATA: &str = "sluice.filter";
/// Value of [`FILTER_METADATA`] for the module.
pub const MODULE_FORM: &str = "module";

/// Form of the filter in an Envoy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterForm {
    /// As WebAssembly, which every Envoy runs.
    #[default]
    Wasm,
    /// As a dynamic module, in an Envoy that says so by [`FILTER_METADATA`].
    Module,
}
