//! Durations in words.

use std::time::Duration;

/// A duration that has passed, roughly.
pub(crate) fn rough(time: Duration) -> String {
    let (seconds, days) = (time.as_secs(), time.as_secs() / 86_400);
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{days} days"),
    }
}

/// A duration that was measured.
pub(crate) fn measured(time: Duration) -> String {
    match time.as_millis() {
        ..1000 => format!("{} ms", time.as_millis()),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_people_think_in() {
        let rough = |seconds| rough(Duration::from_secs(seconds));
        let said = [0, 119, 120, 7199, 7200, 172_800].map(rough);
        assert_eq!(said, ["0 s", "119 s", "2 min", "119 min", "2 h", "2 days"]);
        let measured = [7, 999, 1250].map(|ms| measured(Duration::from_millis(ms)));
        assert_eq!(measured, ["7 ms", "999 ms", "1.2 s"]);
    }
}
