//! Outlier detection, health checks, slow start and load factor: annotations of Sluice's own, `sluice.dev/...`.

use std::num::{NonZeroU16, NonZeroU32};

use sluice_filter_config::{LoadFactor, Percent};
use sluice_ir::{HealthPolicy, OutlierDetection};
use sluice_syntax::value::{self, Parsed};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use super::{health_check, zone};
use crate::risk::Risk;

/// Default ejection time, in seconds.
const SECONDS: NonZeroU32 = NonZeroU32::new(30).unwrap();
/// Default percentage of endpoints that may be ejected.
const MOST: Percent = Percent::new(50).unwrap();
/// Default panic threshold, a percentage.
const PANIC_BELOW: Percent = Percent::new(30).unwrap();

pub(super) const GROUP: Group = Group {
    title: "Sluice's own",
    annotations: &[
        annotation(
            "sluice.dev/slow-start",
            Value::Seconds,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "sluice.dev/eject-after",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "sluice.dev/ejection-seconds",
            Value::Seconds,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "sluice.dev/max-ejected",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "sluice.dev/panic-threshold",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            "sluice.dev/hash-load-factor",
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            zone::NAME,
            Value::OneOf(zone::VALUES),
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            health_check::PATH,
            Value::Text,
            Risk::Medium,
            Scope::Location,
        )
        .full(),
        annotation(health_check::HOST, Value::Text, Risk::Low, Scope::Location).full(),
        annotation(health_check::PORT, Value::Int, Risk::Low, Scope::Location).full(),
        annotation(
            health_check::INTERVAL,
            Value::Seconds,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            health_check::TIMEOUT,
            Value::Seconds,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            health_check::HEALTHY,
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            health_check::UNHEALTHY,
            Value::Int,
            Risk::Low,
            Scope::Location,
        )
        .full(),
        annotation(
            health_check::STATUS,
            Value::Text,
            Risk::Low,
            Scope::Location,
        )
        .full(),
    ],
};

pub(super) fn outlier_detection(
    view: &mut View<'_, '_>,
    reached: health_check::Reached,
) -> HealthPolicy {
    let slow_start = view
        .read("sluice.dev/slow-start", value::seconds)
        .and_then(NonZeroU32::new);
    HealthPolicy {
        slow_start,
        outlier_detection: ejection(view),
        check: health_check::health_check(view, reached).map(Box::new),
    }
}

/// The others mean nothing without the number of failures.
fn ejection(view: &mut View<'_, '_>) -> Option<OutlierDetection> {
    let after = view.read("sluice.dev/eject-after", failures);
    let seconds = view
        .read("sluice.dev/ejection-seconds", value::seconds)
        .and_then(NonZeroU32::new);
    let most = view.read("sluice.dev/max-ejected", percent);
    let panic_below = view.read("sluice.dev/panic-threshold", percent);
    let Some(after) = after else {
        for (name, is_set) in [
            ("sluice.dev/ejection-seconds", seconds.is_some()),
            ("sluice.dev/max-ejected", most.is_some()),
            ("sluice.dev/panic-threshold", panic_below.is_some()),
        ] {
            if is_set {
                view.not_honoured(
                    name,
                    "sluice.dev/eject-after is not set",
                    "annotation ignored",
                );
            }
        }
        return None;
    };
    Some(OutlierDetection {
        consecutive_failures: after,
        base_ejection_seconds: seconds.unwrap_or(SECONDS),
        max_ejection_percent: most.unwrap_or(MOST),
        panic_threshold: panic_below.unwrap_or(PANIC_BELOW),
    })
}

/// The bound of a consistent hash; a subset spreads its load in another way.
pub(super) fn load_factor(
    view: &mut View<'_, '_>,
    is_hashed: bool,
    is_subset: bool,
) -> Option<LoadFactor> {
    const NAME: &str = "sluice.dev/hash-load-factor";
    let factor = view.read(NAME, |text| {
        let factor = text.parse::<u16>().ok();
        let factor = factor.and_then(|factor| LoadFactor::try_from(factor).ok());
        factor.ok_or_else(|| "a percentage of more than 100".into())
    });
    let unusable = match (is_hashed, is_subset) {
        (false, _) => "upstream-hash-by is not set",
        (true, true) => "it cannot be combined with upstream-hash-by-subset",
        (true, false) => return factor,
    };
    if factor.is_some() {
        view.not_honoured(NAME, unusable, "annotation ignored");
    }
    None
}

fn failures(text: &str) -> Parsed<NonZeroU16> {
    text.parse()
        .map_err(|_| "an integer from 1 to 65535".into())
}

fn percent(text: &str) -> Parsed<Percent> {
    text.parse()
        .ok()
        .and_then(Percent::new)
        .ok_or_else(|| "an integer from 0 to 100".into())
}
