//! Endpoints that a worker of a data plane has ejected, as the filter leaves them for the log of a request.

use std::net::SocketAddr;
use std::time::Duration;

/// An endpoint that one worker leaves out from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejection {
    /// The endpoint.
    pub endpoint: SocketAddr,
    /// Time until it gets requests again.
    pub left: Duration,
}

impl Ejection {
    /// From `ip:port SECONDS,ip:port SECONDS`. Anything else, such as the `-` of most requests, is none.
    pub fn parse_list(text: &str) -> Vec<Ejection> {
        let parse = |item: &str| {
            let (endpoint, seconds) = item.split_once(' ')?;
            Some(Ejection {
                endpoint: endpoint.parse().ok()?,
                left: Duration::from_secs(seconds.parse::<u32>().ok()?.into()),
            })
        };
        text.split(',').filter_map(parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ejections_have_an_endpoint_and_seconds() {
        let ejection = |endpoint: &str, seconds| Ejection {
            endpoint: endpoint.parse().unwrap(),
            left: Duration::from_secs(seconds),
        };
        assert_eq!(
            Ejection::parse_list("10.0.0.1:80 30,[::1]:81 1"),
            [ejection("10.0.0.1:80", 30), ejection("[::1]:81", 1)]
        );
        for none in ["", "-", "10.0.0.1:80", "10.0.0.1 30", "10.0.0.1:80 -1"] {
            assert_eq!(Ejection::parse_list(none), [], "{none}");
        }
    }
}
