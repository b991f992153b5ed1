//! How long a response may be kept.

use serde::Serialize;

/// nginx's `expires`: `Cache-Control` and `Expires` of responses without an error, in place of what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expires {
    /// As the pod says.
    Off,
    /// Not at all.
    Epoch,
    /// For ten years.
    Max,
    /// For so many seconds; not at all, if they are negative.
    Seconds(i32),
}

impl Expires {
    /// The value of `Cache-Control`.
    #[must_use]
    pub fn cache_control(self) -> Option<String> {
        Some(match self {
            Expires::Off => return None,
            Expires::Max => "max-age=315360000".to_owned(),
            Expires::Seconds(seconds @ 0..) => format!("max-age={seconds}"),
            Expires::Epoch | Expires::Seconds(_) => "no-cache".to_owned(),
        })
    }

    /// The value of `Expires`; `None` also of a time from now: `Cache-Control` says it, too (RFC 9111, 5.3).
    #[must_use]
    pub fn date(self) -> Option<&'static str> {
        match self {
            Expires::Epoch | Expires::Seconds(..0) => Some("Thu, 01 Jan 1970 00:00:01 GMT"),
            Expires::Max => Some("Thu, 31 Dec 2037 23:55:55 GMT"),
            Expires::Off | Expires::Seconds(_) => None,
        }
    }
}
