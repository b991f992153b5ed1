//! `expires`: how long responses may be kept.

use sluice_ir::Expires;

use crate::snippet::syntax::time::seconds;

/// Headers that it writes.
pub(super) const WRITTEN: [&str; 2] = ["cache-control", "expires"];

/// Reads its argument. `None`: it depends on more than the time of the response.
pub(in crate::snippet) fn read(argument: &str) -> Option<Expires> {
    Some(match argument {
        "off" => Expires::Off,
        "epoch" => Expires::Epoch,
        "max" => Expires::Max,
        time => Expires::Seconds(seconds(time)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_nginx() {
        for (text, expected) in [
            ("0", 0),
            ("3600", 3600),
            ("1h", 3600),
            ("+1h30m", 5400),
            ("1d12h", 129_600),
            ("1y", 31_536_000),
            ("1M", 2_592_000),
            ("2w5", 1_209_605),
            ("-1", -1),
            ("-10m", -600),
        ] {
            assert_eq!(read(text), Some(Expires::Seconds(expected)), "{text}");
        }
        assert_eq!(read("off"), Some(Expires::Off));
        for bad in [
            "",
            "-",
            "h",
            "1x",
            "1m1h",
            "1h1h",
            "@15h",
            "$expires",
            "1 h",
            "100y",
            "99999999999",
            "1ms",
            "1h-1",
            "1\u{e9}",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
