//! Ports without HTTP: `proxy-stream-*`.

use std::num::NonZeroU32;

use sluice_syntax::value;

use super::Globals;
use super::view::View;

const MAX_STREAM_ATTEMPTS: u32 = 16;
/// The half of what a container has.
const MAX_CONNECTIONS: u32 = 131_072;

/// `proxy-stream-*`: how long ports without HTTP wait for somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamTimeouts {
    /// Seconds of silence.
    pub(crate) idle: u32,
    /// Pods for one connection.
    pub(crate) attempts: u32,
    /// Seconds for all of them, if there is a limit.
    pub(crate) attempts_within: Option<NonZeroU32>,
    /// Datagrams of an answer, if they are counted.
    pub(crate) answers: Option<NonZeroU32>,
}

impl Default for StreamTimeouts {
    fn default() -> Self {
        StreamTimeouts {
            idle: 600,
            attempts: 3,
            attempts_within: NonZeroU32::new(600),
            answers: Some(NonZeroU32::MIN),
        }
    }
}

impl Globals {
    pub(super) fn take_streams(&mut self, view: &mut View<'_, '_>) {
        let mut again = true;
        let StreamTimeouts {
            idle,
            attempts,
            attempts_within,
            answers,
        } = &mut self.streams;
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
        let usual = self.connections;
        view.set(
            &mut self.connections,
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
