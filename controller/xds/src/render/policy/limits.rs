//! Requests of one client.
//!
//! The filter counts them for the whole Ingress, as `sluice.lookup`, and says so by a header; Envoy's filter here refuses those, where
//! other policies of a route see it. Envoy's own buckets are of one route and last until its table changes: they hold
//! for requests whose route was not known when they began, before access control.

use std::num::NonZeroU32;

use envoy_types::pb::envoy::config::core::v3::{
    self as envoy, RuntimeFractionalPercent, TypedExtensionConfig,
};
use envoy_types::pb::envoy::config::route::v3::RateLimit;
use envoy_types::pb::envoy::config::route::v3::rate_limit::action::{
    ActionSpecifier, GenericKey, HeaderValueMatch, RemoteAddressMatch,
};
use envoy_types::pb::envoy::config::route::v3::rate_limit::{Action, HitsAddend};
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::LocalRateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::extensions::filters::common::fault::v3::FaultRateLimit;
use envoy_types::pb::envoy::extensions::filters::common::fault::v3::fault_rate_limit::{
    FixedLimit, LimitType,
};
use envoy_types::pb::envoy::extensions::filters::http::fault::v3::HttpFault;
use envoy_types::pb::envoy::extensions::filters::http::local_ratelimit::v3::LocalRateLimit;
use envoy_types::pb::envoy::r#type::matcher::v3::AddressMatcher;
use envoy_types::pb::envoy::r#type::v3::{FractionalPercent, HttpStatus, TokenBucket};
use envoy_types::pb::google::protobuf::UInt64Value;
use envoy_types::pb::xds::core::v3::CidrRange;
use sluice_ir::{Cidr, ClientLimits, Rate};

use crate::render::proto::{cidr_range, extension, number, seconds};
use crate::render::route::matching::present;
use crate::settings::LIMITED_HEADER;

/// Clients whose requests are counted at a time; beyond that the ones that were not seen for longest are forgotten.
const CLIENTS: u32 = 10_000;
/// Descriptor of clients that are over their limit.
const LIMITED: &str = "limited";

/// A bucket for each client: full at first, with one token more than the burst, as nginx's `nodelay` has it.
pub(super) fn limits(limits: &ClientLimits) -> TypedExtensionConfig {
    let kinds = [
        ("second", 1, limits.per_second),
        ("minute", 60, limits.per_minute),
    ];
    let kinds = kinds
        .into_iter()
        .filter_map(|(name, period, rate)| Some((name, period, rate?)));
    let (mut rate_limits, mut descriptors): (Vec<_>, Vec<_>) = kinds
        .map(|(name, period, rate)| (counted(name, limits), bucket(name, period, rate)))
        .unzip();
    rate_limits.push(limited());
    descriptors.push(nothing());
    let filter = LocalRateLimit {
        stat_prefix: "limit".to_owned(),
        status: Some(HttpStatus {
            code: limits.status.into(),
        }),
        filter_enabled: always(),
        filter_enforced: always(),
        rate_limits,
        descriptors,
        max_dynamic_descriptors: number(CLIENTS),
        ..LocalRateLimit::default()
    };
    extension("limits", filter)
}

/// Of one answer. Envoy means it for trying out how slow things feel.
pub(super) fn rate(kilobytes: NonZeroU32) -> TypedExtensionConfig {
    let limit = FaultRateLimit {
        percentage: Some(FractionalPercent {
            numerator: 100,
            ..FractionalPercent::default()
        }),
        limit_type: Some(LimitType::FixedLimit(FixedLimit {
            limit_kbps: kilobytes.get().into(),
        })),
    };
    let filter = HttpFault {
        response_rate_limit: Some(limit),
        disable_downstream_cluster_stats: true,
        ..HttpFault::default()
    };
    extension("rate", filter)
}

/// A request that the filter has counted as too much asks for more than there ever is.
fn limited() -> RateLimit {
    let limited = HeaderValueMatch {
        descriptor_key: LIMITED.to_owned(),
        descriptor_value: LIMITED.to_owned(),
        headers: vec![present(LIMITED_HEADER)],
        ..HeaderValueMatch::default()
    };
    let action = Action {
        action_specifier: Some(ActionSpecifier::HeaderValueMatch(limited)),
    };
    RateLimit {
        actions: vec![action],
        hits_addend: Some(HitsAddend {
            number: Some(UInt64Value { value: 2 }),
            ..HitsAddend::default()
        }),
        ..RateLimit::default()
    }
}

fn nothing() -> LocalRateLimitDescriptor {
    let entry = Entry {
        key: LIMITED.to_owned(),
        value: LIMITED.to_owned(),
    };
    let bucket = TokenBucket {
        max_tokens: 1,
        tokens_per_fill: number(1),
        fill_interval: seconds(1),
    };
    LocalRateLimitDescriptor {
        entries: vec![entry],
        token_bucket: Some(bucket),
        ..LocalRateLimitDescriptor::default()
    }
}

/// Clients that are exempt are not counted at all.
fn counted(name: &str, limits: &ClientLimits) -> RateLimit {
    let kind = GenericKey {
        descriptor_key: "per".to_owned(),
        descriptor_value: name.to_owned(),
        ..GenericKey::default()
    };
    let others = AddressMatcher {
        ranges: limits.exempt.iter().copied().map(exempt).collect(),
        invert_match: true,
    };
    let client = RemoteAddressMatch {
        descriptor_key: "client".to_owned(),
        descriptor_value: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%".to_owned(),
        address_matcher: Some(others),
        ..RemoteAddressMatch::default()
    };
    let actions = [
        ActionSpecifier::GenericKey(kind),
        ActionSpecifier::RemoteAddressMatch(client),
    ];
    let actions = actions
        .map(|action| Action {
            action_specifier: Some(action),
        })
        .into();
    RateLimit {
        actions,
        ..RateLimit::default()
    }
}

/// The same message as [`cidr_range`]'s under another name.
fn exempt(cidr: Cidr) -> CidrRange {
    let envoy::CidrRange {
        address_prefix,
        prefix_len,
    } = cidr_range(cidr);
    CidrRange {
        address_prefix,
        prefix_len,
    }
}

fn bucket(name: &str, period: i64, rate: Rate) -> LocalRateLimitDescriptor {
    let entry = |key: &str, value: &str| Entry {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let bucket = TokenBucket {
        max_tokens: rate.burst.saturating_add(1),
        tokens_per_fill: number(rate.requests.get()),
        fill_interval: seconds(period),
    };
    // Without a value: each client has its own.
    LocalRateLimitDescriptor {
        entries: vec![entry("per", name), entry("client", "")],
        token_bucket: Some(bucket),
        ..LocalRateLimitDescriptor::default()
    }
}

fn always() -> Option<RuntimeFractionalPercent> {
    let hundred = FractionalPercent {
        numerator: 100,
        ..FractionalPercent::default()
    };
    Some(RuntimeFractionalPercent {
        default_value: Some(hundred),
        ..RuntimeFractionalPercent::default()
    })
}
