//! Request headers that are taken away.

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::common::mutation_rules::v3::header_mutation::Action;

pub(super) fn remove(header: &str) -> HeaderMutation {
    HeaderMutation { action: Some(Action::Remove(header.to_owned())) }
}
