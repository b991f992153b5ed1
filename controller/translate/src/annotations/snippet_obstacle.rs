//! Reasons why a snippet is not served, as its owner hears them.

use std::borrow::Cow;

use sluice_ir::ReasonCode;

use super::alternatives::alternatives;
use super::snippets::Snippet;
use crate::snippet::{AdviceFor, Block, SnippetErrors};
use crate::support::DataPlane;

/// Reason why a snippet is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// None of its kind is, or none of such an Ingress.
    Kind,
    /// Something in it.
    Content(SnippetErrors),
    /// A setting beside it.
    Conflict(Cow<'static, str>),
    /// The operator does not permit snippets.
    NotPermitted,
}

impl Obstacle {
    /// `advice`: alternatives to all directives of the snippet.
    pub(super) fn reason(
        self,
        snippet: Snippet<'_>,
        advice: &str,
        data_plane: Option<DataPlane>,
    ) -> (ReasonCode, String) {
        let applies_to = snippet.applies_to;
        match self {
            Obstacle::NotPermitted => (
                ReasonCode::NotPermitted,
                "requires allow-snippet-annotations: \"true\" and annotations-risk-level: Critical in the ConfigMap"
                    .to_owned(),
            ),
            Obstacle::Conflict(reason) => (ReasonCode::Conflicted, applies_to.note(&reason)),
            Obstacle::Content(errors) => {
                let reason = of_content(errors, snippet, data_plane);
                (ReasonCode::Unsupported, applies_to.note(&reason))
            }
            Obstacle::Kind => (ReasonCode::Unsupported, applies_to.not_supported(advice)),
        }
    }
}

fn of_content(
    errors: SnippetErrors,
    snippet: Snippet<'_>,
    data_plane: Option<DataPlane>,
) -> String {
    errors.reason(|directives| match snippet.block() {
        // The alternatives are those of a location that leads to pods.
        Some(Block::AuthRequest) => String::new(),
        _ => alternatives(directives, data_plane, AdviceFor::Ingresses),
    })
}
