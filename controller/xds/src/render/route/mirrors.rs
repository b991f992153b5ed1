//! Copies of requests.

use envoy_types::pb::envoy::config::core::v3::RuntimeFractionalPercent;
use envoy_types::pb::envoy::config::route::v3::route_action::RequestMirrorPolicy;
use envoy_types::pb::envoy::r#type::v3::FractionalPercent;
use envoy_types::pb::envoy::r#type::v3::fractional_percent::DenominatorType;
use sluice_ir::{Fraction, Mirror, Policy};

/// Envoy changes the path of no copy (`:-prefixed or host headers may not be modified`); the translation reports those.
pub(super) fn copies(policy: &Policy) -> Vec<RequestMirrorPolicy> {
    let mirrors = policy.mirrors.iter();
    mirrors
        .filter(|mirror| mirror.path.is_none())
        .map(copy_to)
        .collect()
}

fn copy_to(mirror: &Mirror) -> RequestMirrorPolicy {
    RequestMirrorPolicy {
        cluster: mirror.backend.as_str().to_owned(),
        host_rewrite_literal: mirror.host.clone(),
        disable_shadow_host_suffix_append: true,
        runtime_fraction: mirror.fraction.map(of_all),
        ..RequestMirrorPolicy::default()
    }
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
