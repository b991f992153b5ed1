//! Retries: nginx's conditions in Envoy's words.

use envoy_types::pb::envoy::config::route::v3::retry_policy::RetryBackOff;
use envoy_types::pb::envoy::config::route::v3::{HeaderMatcher, RetryPolicy};
use envoy_types::pb::google::protobuf::UInt64Value;
use sluice_ir::{CDN_LOOP, GlobalConfig, Policy, Retries, RetryOn, Timeouts};

use super::matching::{contains, is_not, no};
use crate::render::proto::{millis, number, seconds};

/// Methods of requests that may have changed something: they are not repeated once they may have reached a pod.
const NOT_IDEMPOTENT: [&str; 3] = ["POST", "LOCK", "PATCH"];

/// Bytes that Envoy keeps of a connection by itself.
const ENVOYS_BUFFER: u64 = 1 << 20;

/// A request that can be repeated. Three comparisons of what Envoy has at hand; a pattern would be compiled anew for
/// every route whenever any route changes.
pub(super) fn idempotent() -> impl Iterator<Item = HeaderMatcher> {
    NOT_IDEMPOTENT
        .into_iter()
        .map(|method| is_not(":method", method))
}

/// True if non-idempotent requests need a retry policy of their own.
pub(super) fn differs_by_method(retries: &Retries) -> bool {
    let on = &retries.on;
    retries.attempts.get() > 1
        && !on.non_idempotent
        && conditions(on, true) != conditions(on, false)
}

/// Also when nothing is tried twice: it limits the time of the one attempt.
pub(super) fn policy(retries: &Retries, timeouts: &Timeouts, idempotent: bool) -> RetryPolicy {
    let idempotent = idempotent || retries.on.non_idempotent;
    let on = conditions(&retries.on, idempotent);
    let more = u32::from(retries.attempts.get()) - 1;
    // Without a wait worth the name: each attempt goes to another pod, so there is nothing to wait for.
    let back_off = RetryBackOff {
        base_interval: millis(1),
        max_interval: millis(10),
    };
    RetryPolicy {
        retry_on: on.join(","),
        num_retries: number(if on.is_empty() { 0 } else { more }),
        retriable_status_codes: statuses(&retries.on, idempotent),
        // nginx limits the time between two reads of one attempt.
        per_try_idle_timeout: seconds(timeouts.read.into()),
        retry_back_off: Some(back_off),
        ..RetryPolicy::default()
    }
}

/// Longer than all attempts together, each of which has a limit of its own: this one is for clients, whose bodies may pause. It counts
/// for them and for pods alike, and Envoy has none that ends with the body.
pub(super) fn idle_timeout(policy: &Policy, global: &GlobalConfig) -> i64 {
    let of_pods = policy.retries.longest(policy.timeouts) + 1;
    let longest = of_pods.max(global.http.body_timeout.into());
    i64::try_from(longest).unwrap_or(i64::MAX)
}

/// A request that came through this Sluice before is not retried: each turn of a loop would multiply the others. Envoy has put its
/// own mark behind all that were there.
pub(super) fn unless_looped(policy: RetryPolicy, global: &GlobalConfig) -> RetryPolicy {
    let looped = contains(CDN_LOOP, &format!("{},", global.cdn_id));
    RetryPolicy {
        retriable_request_headers: vec![no(looped)],
        ..policy
    }
}

/// Bytes of a body that are kept until a pod responds, where Envoy's own number is not enough: a request can be sent to another pod
/// as long as all of its body is there. nginx keeps it on disk, Envoy in memory.
pub(super) fn body_buffer(policy: &Policy, global: &GlobalConfig) -> Option<UInt64Value> {
    let largest = policy.max_body_size.unwrap_or(u64::MAX);
    let value = largest.min(global.kept_body);
    let is_kept = policy.buffering.request_buffering && policy.retries.attempts.get() > 1;
    (is_kept && value > ENVOYS_BUFFER).then_some(UInt64Value { value })
}

fn conditions(on: &RetryOn, idempotent: bool) -> Vec<&'static str> {
    let mut words = Vec::new();
    if on.error || on.timeout {
        // Surely has not reached an application, whatever the method.
        words.extend(["connect-failure", "refused-stream", "reset-before-request"]);
    }
    if idempotent && (on.error || on.timeout || on.invalid_header) {
        words.push("reset");
    }
    if idempotent && !on.statuses.is_empty() {
        words.push("retriable-status-codes");
    }
    words
}

fn statuses(on: &RetryOn, idempotent: bool) -> Vec<u32> {
    if idempotent {
        on.statuses
            .iter()
            .map(|status| u32::from(*status))
            .collect()
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry_on(on: RetryOn, idempotent: bool) -> (String, u32, Vec<u32>) {
        let policy = policy(
            &Retries {
                on,
                ..Retries::default()
            },
            &Timeouts::default(),
            idempotent,
        );
        (
            policy.retry_on,
            policy.num_retries.unwrap().value,
            policy.retriable_status_codes,
        )
    }

    #[test]
    fn clients_have_the_time_that_is_theirs_and_that_of_their_pods() {
        let idle = |body_timeout| {
            let mut global = GlobalConfig::default();
            global.http.body_timeout = body_timeout;
            idle_timeout(&Policy::default(), &global)
        };
        assert_eq!([idle(5), idle(60), idle(600)], [181, 181, 600]);
    }

    #[test]
    fn what_may_have_reached_a_pod_is_repeated_only_when_that_does_no_harm() {
        let safe = "connect-failure,refused-stream,reset-before-request";
        assert_eq!(
            retry_on(RetryOn::default(), true),
            (format!("{safe},reset"), 2, vec![])
        );
        assert_eq!(
            retry_on(RetryOn::default(), false),
            (safe.to_owned(), 2, vec![])
        );
        let always = RetryOn {
            non_idempotent: true,
            ..RetryOn::default()
        };
        assert_eq!(retry_on(always.clone(), false), retry_on(always, true));
    }

    #[test]
    fn a_body_is_kept_up_to_what_the_memory_and_its_own_limit_allow() {
        let kept = |max_body_size, kept_body| {
            let policy = Policy {
                max_body_size,
                ..Policy::default()
            };
            let global = GlobalConfig {
                kept_body,
                ..GlobalConfig::default()
            };
            body_buffer(&policy, &global).map(|buffer| buffer.value)
        };
        assert_eq!(kept(None, 8 << 20), Some(8 << 20));
        assert_eq!(kept(Some(5 << 20), 8 << 20), Some(5 << 20));
        assert_eq!(kept(Some(5 << 20), 2 << 20), Some(2 << 20));
        // Envoy's own number is enough.
        assert_eq!(kept(Some(1 << 20), 8 << 20), None);
        assert_eq!(kept(None, 1 << 10), None);
    }

    #[test]
    fn off_is_one_attempt() {
        assert_eq!(retry_on(RetryOn::never(), true), (String::new(), 0, vec![]));
    }

    #[test]
    fn statuses_are_retried_by_number() {
        let on = RetryOn {
            statuses: [503].into(),
            ..RetryOn::never()
        };
        assert_eq!(
            retry_on(on.clone(), true),
            ("retriable-status-codes".to_owned(), 2, vec![503])
        );
        assert_eq!(retry_on(on, false).1, 0);
    }

    #[test]
    fn one_route_is_enough_when_the_method_makes_no_difference() {
        let with = |on, attempts: u8| Retries {
            on,
            attempts: attempts.try_into().unwrap(),
            timeout: None,
        };
        assert!(differs_by_method(&with(RetryOn::default(), 3)));
        assert!(!differs_by_method(&with(RetryOn::default(), 1)));
        assert!(!differs_by_method(&with(RetryOn::never(), 3)));
    }
}
