//! Waiting for something to become true, with a limit and a sentence for when it does not.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Long enough for two busy cores; only a failure takes this long.
pub const LIMIT: Duration = Duration::from_secs(60);

const PERIOD: Duration = Duration::from_millis(10);

/// Asks `probe` every few milliseconds until it answers; how long that took comes with the answer.
///
/// # Errors
/// When there is no answer within [`LIMIT`]; the text names `what`.
pub async fn until<T>(what: &str, probe: impl AsyncFnMut() -> Option<T>) -> Result<(T, Duration)> {
    until_within(LIMIT, what, probe).await
}

/// The same with another limit, for what is larger than usual.
///
/// # Errors
/// When there is no answer within the limit; the text names `what`.
pub async fn until_within<T>(
    limit: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> Option<T>,
) -> Result<(T, Duration)> {
    let start = Instant::now();
    loop {
        if let Some(answer) = probe().await {
            return Ok((answer, start.elapsed()));
        }
        if start.elapsed() > limit {
            bail!("waited {} s for {what}", limit.as_secs());
        }
        tokio::time::sleep(PERIOD).await;
    }
}
