//! TCP and UDP ports: `proxy-stream-*`.

use std::num::NonZeroU32;

use sluice_syntax::value;

use super::keys::{Key, key};
use super::view::View;
use crate::STREAM_CONNECTIONS;
use crate::support::Support;

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("max-worker-connections", "16384").partly("of each Service behind TCP and UDP ports or ssl-passthrough, up to 131072; other connections are not limited").nginx(Support::Partly("each worker has as many, from 16384 to 131072, and each TCP or UDP port a quarter of it")),
    key("proxy-stream-next-upstream", "true").full(),
    key("proxy-stream-next-upstream-timeout", "600s").instead("use proxy-stream-next-upstream-tries and proxy-connect-timeout").native(),
    key("proxy-stream-next-upstream-tries", "3").partly("0 (no limit) and more than 16 are 16"),
    key("proxy-stream-responses", "1").instead("a client's datagrams go to one pod until proxy-stream-timeout of silence").native(),
    key("proxy-stream-timeout", "600s").full(),
];

const MAX_STREAM_ATTEMPTS: u32 = 16;
/// The half of what a container has.
const MAX_CONNECTIONS: u32 = 131_072;

/// Connections and datagrams of TCP and UDP ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Streams {
    /// Seconds of silence.
    pub(crate) idle: u32,
    /// Pods for one connection.
    pub(crate) attempts: u32,
    /// Seconds for all of them, if there is a limit.
    pub(crate) attempts_within: Option<NonZeroU32>,
    /// Datagrams of an answer, if they are counted.
    pub(crate) answers: Option<NonZeroU32>,
    /// `max-worker-connections`: of each Service.
    pub(crate) connections: u32,
}

impl Default for Streams {
    fn default() -> Self {
        Streams {
            idle: 600,
            attempts: 3,
            attempts_within: NonZeroU32::new(600),
            answers: Some(NonZeroU32::MIN),
            connections: STREAM_CONNECTIONS,
        }
    }
}

impl Streams {
    pub(super) fn take(&mut self, view: &mut View<'_, '_>) {
        let mut again = true;
        let Streams {
            idle,
            attempts,
            attempts_within,
            answers,
            connections,
        } = self;
        view.set(idle, "proxy-stream-timeout", |text| {
            Ok(value::span(text)?.div_ceil(1000))
        });
        view.set(attempts, "proxy-stream-next-upstream-tries", value::count);
        view.set(&mut again, "proxy-stream-next-upstream", value::bool);
        view.set(
            attempts_within,
            "proxy-stream-next-upstream-timeout",
            |text| Ok(NonZeroU32::new(value::span(text)?.div_ceil(1000))),
        );
        view.set(answers, "proxy-stream-responses", |text| {
            Ok(NonZeroU32::new(value::count(text)?))
        });
        // ingress-nginx: 0 is as many as a process may have files. Loops must end before.
        let usual = *connections;
        view.set(
            connections,
            "max-worker-connections",
            |text| match value::count(text)? {
                0 => Ok(usual),
                some => Ok(some.min(MAX_CONNECTIONS)),
            },
        );
        // nginx: 0 is no limit.
        *attempts = match (again, *attempts) {
            (false, _) => 1,
            (true, 0) => MAX_STREAM_ATTEMPTS,
            (true, some) => some.min(MAX_STREAM_ATTEMPTS),
        };
    }
}
