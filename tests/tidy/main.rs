//! The rules of the repository that a machine can check. Each says what to do when it fails.

mod comments;
mod cycles;
mod dependencies;
mod golden;
mod packages;
mod pages;
mod security;
mod size;
mod source;
mod tree;
