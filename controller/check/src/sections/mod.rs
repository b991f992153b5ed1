//! One file a section, or two that read the same facts.

mod certificates;
mod class;
mod configuration;
mod controller;
mod data_planes;
mod kubernetes;
mod pods;
mod rights;
mod webhook;

pub(crate) use certificates::certificates;
pub(crate) use class::{class, free_class};
pub(crate) use configuration::configuration;
pub(crate) use controller::controller;
pub(crate) use data_planes::data_planes;
pub(crate) use kubernetes::{kubernetes, unreachable};
pub(crate) use rights::{rights, rights_to_install};
pub(crate) use webhook::{other_webhooks, webhook};
