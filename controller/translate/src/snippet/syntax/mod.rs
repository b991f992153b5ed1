//! nginx's own language: words, directives and variables.

pub(super) mod reserved_variables;
pub(super) mod statements;
pub(super) mod substitution;
pub(super) mod time;
pub(super) mod tree;
