//! Waiting for an API server that is away, without a crowd at its door when it comes back.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tracing::{info, warn};

use crate::outage::{Outage, is_unreachable, with_causes};

const FIRST_WAIT: Duration = Duration::from_millis(200);
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// An API server that takes longer is as good as gone.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// Log line at the end of an outage.
pub(super) const AGAIN: &str = "the API server answers again";

/// The waits between attempts. They have no end.
pub(super) fn waits() -> ExponentialBackoff {
    let waits = ExponentialBuilder::default()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LONGEST_WAIT);
    // Jitter keeps the watches of many controllers from coming back as one.
    waits
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
        .build()
}

/// Asks until there is an answer. A refusal that time does not change is one.
pub(super) async fn retry<T>(
    outage: &Outage,
    ask: impl AsyncFn() -> kube::Result<T>,
) -> kube::Result<T> {
    let mut waits = waits();
    loop {
        let trouble = match tokio::time::timeout(TIMEOUT, ask()).await {
            Ok(Err(error)) if passes(&error) => with_causes(&error),
            Ok(answer) => {
                if outage.is_over() {
                    info!("{AGAIN}");
                }
                return answer;
            }
            Err(_) => format!("nothing in {TIMEOUT:?}"),
        };
        if outage.is_due(Instant::now()) {
            warn!("the API server does not answer: {trouble}; trying again");
        }
        tokio::time::sleep(waits.next().unwrap_or(LONGEST_WAIT)).await;
    }
}

fn passes(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        other => is_unreachable(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    #[test]
    fn what_time_may_heal_is_waited_for_and_the_rest_is_said() {
        let error = |code| kube::Error::Api(Status::failure("", "").with_code(code).boxed());
        assert!(passes(&error(429)) && passes(&error(500)) && passes(&error(503)));
        assert!(!passes(&error(401)) && !passes(&error(403)) && !passes(&error(404)));
    }

    #[test]
    fn waits_grow_to_a_limit_and_never_end() {
        let waits: Vec<Duration> = waits().take(50).collect();
        assert_eq!(waits.len(), 50);
        // Jitter adds up to the wait itself.
        assert!(
            waits
                .iter()
                .all(|wait| *wait >= FIRST_WAIT && *wait <= LONGEST_WAIT * 2),
            "{waits:?}"
        );
        assert!(waits[0] < waits[10]);
    }
}
