//! A fake host, and guests in the text format.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::borrow::Cow;
use std::time::Duration;

use sluice_wasm_host::{
    Context, ContextId, Env, HostResult, HttpCall, LocalResponse, LogLevel, MapType, Options,
    Pairs, PairsBuf, Plugin, PropertyPath, Status, StreamType, Trap, Vm, compile,
};

pub(crate) const NOW: u64 = 1_700_000_000_123_456_789;

pub(crate) type Headers = Vec<(Vec<u8>, Vec<u8>)>;

/// A local response of the guest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u32,
    pub(crate) details: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) headers: Headers,
    pub(crate) grpc_status: Option<u32>,
}

/// An HTTP call of the guest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) upstream: Vec<u8>,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Headers,
    pub(crate) timeout: Duration,
}

/// Headers and properties in, effects out.
#[derive(Debug, Default)]
pub(crate) struct FakeEnv {
    pub(crate) entered: Vec<ContextId>,
    pub(crate) left: usize,
    pub(crate) log: Vec<(LogLevel, String)>,
    /// Values that the guest reports: it sets the tick period to the statuses that it got.
    pub(crate) reported: Vec<u128>,
    pub(crate) request: Headers,
    pub(crate) response: Headers,
    pub(crate) property: Vec<u8>,
    pub(crate) properties_read: Vec<Vec<u8>>,
    pub(crate) local: Option<Reply>,
    pub(crate) calls: Vec<Call>,
}

impl Env for FakeEnv {
    fn enter(&mut self, context: ContextId) {
        self.entered.push(context);
    }

    fn leave(&mut self) {
        self.left += 1;
    }

    fn log(&mut self, level: LogLevel, message: &[u8]) {
        self.log
            .push((level, String::from_utf8_lossy(message).into_owned()));
    }

    fn now_ns(&mut self) -> u64 {
        NOW
    }

    fn random(&mut self, out: &mut [u8]) -> HostResult<()> {
        out.fill(7);
        Ok(())
    }

    fn property(&mut self, path: PropertyPath<'_>) -> HostResult<Cow<'_, [u8]>> {
        self.properties_read.push(path.0.to_vec());
        Ok(Cow::Borrowed(&self.property))
    }

    fn headers(&mut self, map: MapType, out: &mut PairsBuf) -> HostResult<()> {
        let MapType::HttpRequestHeaders = map else {
            return Err(Status::BadArgument);
        };
        for (name, value) in &self.request {
            out.push(name, value);
        }
        Ok(())
    }

    fn set_headers(&mut self, map: MapType, headers: Pairs<'_>) -> HostResult<()> {
        let MapType::HttpResponseHeaders = map else {
            return Err(Status::BadArgument);
        };
        self.response = owned(headers);
        Ok(())
    }

    fn send_local_response(&mut self, response: LocalResponse<'_>) -> HostResult<()> {
        self.local = Some(Reply {
            status: response.status,
            details: response.details.to_vec(),
            body: response.body.to_vec(),
            headers: owned(response.headers),
            grpc_status: response.grpc_status,
        });
        Ok(())
    }

    fn http_call(&mut self, call: HttpCall<'_>) -> HostResult<u32> {
        self.calls.push(Call {
            upstream: call.upstream.to_vec(),
            headers: owned(call.headers),
            body: call.body.to_vec(),
            trailers: owned(call.trailers),
            timeout: call.timeout,
        });
        Ok(77)
    }

    fn continue_stream(&mut self, stream: StreamType) -> HostResult<()> {
        self.reported.push(u128::from(stream.number()) + 1000);
        Ok(())
    }

    fn set_tick_period(&mut self, period: Duration) -> HostResult<()> {
        self.reported.push(period.as_millis());
        Ok(())
    }
}

fn owned(pairs: Pairs<'_>) -> Headers {
    pairs
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect()
}

/// The common part of all guests: memory, an allocator that starts at 32 KiB, and a report function.
const COMMON: &str = r#"
    (import "env" "proxy_set_tick_period_milliseconds" (func $report_ (param i32) (result i32)))
    (memory (export "memory") 1)
    (global $free (mut i32) (i32.const 32768))
    (func (export "proxy_on_memory_allocate") (param $size i32) (result i32)
        (global.get $free)
        (global.set $free (i32.add (global.get $free) (local.get $size))))
    (func $report (param i32) (drop (call $report_ (local.get 0))))
"#;

/// A guest with `imports`, `body` and the common part.
pub(crate) fn guest(imports: &str, body: &str) -> String {
    format!("(module {imports} {COMMON} {body})")
}

pub(crate) fn try_start(wat: &str, options: Options) -> Result<Vm<FakeEnv>, Trap> {
    let module = compile(&wat::parse_str(wat).unwrap()).unwrap();
    Vm::new(&Plugin::new(&module, options)?, FakeEnv::default())
}

pub(crate) fn start(wat: &str) -> (Vm<FakeEnv>, Context) {
    start_with(wat, Options::default())
}

pub(crate) fn start_with(wat: &str, options: Options) -> (Vm<FakeEnv>, Context) {
    let mut vm = try_start(wat, options).unwrap();
    let root = vm.create_root().unwrap();
    (vm, root)
}

/// Values that a guest with `body` as its `on_tick` reports.
pub(crate) fn reported_by_tick(imports: &str, body: &str) -> Vec<u128> {
    let (mut vm, root) = start(&guest(
        imports,
        &format!(r#"(func (export "proxy_on_tick") (param i32) {body})"#),
    ));
    vm.on_tick(&root).unwrap();
    std::mem::take(&mut vm.env_mut().reported)
}
