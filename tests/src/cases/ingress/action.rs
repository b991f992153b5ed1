//! What `after` says: a change of the model.

use std::collections::BTreeSet;

use super::model::Model;
use super::schema::{Case, Check};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// So many pods.
    Scale(String, Vec<u16>),
}

/// The services that an action of the case creates: they are not there before.
pub fn created_later(_case: &Case) -> BTreeSet<String> {
    BTreeSet::new()
}

impl Action {
    /// Reads an action.
    pub fn parse(text: &str) -> Result<Action, String> {
        Err(format!("the action {text:?} is not understood"))
    }

    /// Makes the change.
    pub fn change(&self, _model: &mut Model, _check: &Check) -> Result<(), String> {
        Ok(())
    }
}
