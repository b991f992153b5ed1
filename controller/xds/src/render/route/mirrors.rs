//! Copies of requests.
//!
//! ```text
//!   sluice.policy: filter state sluice.target = /in/x?a --> mirror policy: x-sluice-mirror-target: /fixed /in/x?a
//!       --> cluster of the mirror --> sluice.mirror: :path = /fixed?a
//! ```
//!
//! Neither a mirror policy nor a filter of Envoy's own changes the path of a copy (`:-prefixed or host headers may not be modified`), and
//! by the time that it is made, that of the request has been rewritten.

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::core::v3::RuntimeFractionalPercent;
use envoy_types::pb::envoy::config::route::v3::route_action::RequestMirrorPolicy;
use envoy_types::pb::envoy::r#type::v3::FractionalPercent;
use envoy_types::pb::envoy::r#type::v3::fractional_percent::DenominatorType;
use sluice_filter_config::host_contract::MIRROR_TARGET_HEADER;
use sluice_ir::{Fraction, Mirror, MirrorPath, Policy, ServerName};

use crate::render::header::{append, literal, set};
use crate::render::policy::target;

/// Of a route in the virtual host of this name.
pub(super) fn copies(policy: &Policy, server: &ServerName) -> Vec<RequestMirrorPolicy> {
    let mirrors = policy.mirrors.iter();
    mirrors.map(|mirror| copy_to(mirror, server)).collect()
}

fn copy_to(mirror: &Mirror, server: &ServerName) -> RequestMirrorPolicy {
    // Others get the host as it was sent.
    let host = mirror.host.clone().or_else(|| match server {
        ServerName::Exact(name) => Some(name.as_str().to_owned()),
        ServerName::Wildcard(_) | ServerName::CatchAll => None,
    });
    RequestMirrorPolicy {
        cluster: mirror.backend.as_str().to_owned(),
        host_rewrite_literal: host.unwrap_or_default(),
        disable_shadow_host_suffix_append: true,
        runtime_fraction: mirror.fraction.map(of_all),
        request_headers_mutations: mirror.path.iter().map(target_of_copy).collect(),
        ..RequestMirrorPolicy::default()
    }
}

fn target_of_copy(path: &MirrorPath) -> HeaderMutation {
    let fixed = literal(&path.literal);
    let space = if path.request_uri { "" } else { " " };
    let target = format!("{fixed}{space}{}", target::KEPT);
    append(set(MIRROR_TARGET_HEADER, &target))
}

fn of_all(fraction: Fraction) -> RuntimeFractionalPercent {
    RuntimeFractionalPercent {
        default_value: Some(FractionalPercent {
            numerator: fraction.millionths(),
            denominator: DenominatorType::Million.into(),
        }),
        ..RuntimeFractionalPercent::default()
    }
}
