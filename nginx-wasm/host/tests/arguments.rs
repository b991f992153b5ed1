//! Each import passes its arguments to the host in order, and the result to the guest.

mod common;

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::time::Duration;

use sluice_wasm_host::{
    BufferType, ContextId, Env, HostResult, LogLevel, MapType, MetricType, Options, Plugin,
    PropertyPath, StreamType, Vm, compile,
};

/// Records each call as one line.
#[derive(Default)]
struct RecordingEnv {
    lines: Vec<String>,
}

impl RecordingEnv {
    fn note(&mut self, call: &str, arguments: &[&[u8]]) {
        let arguments = arguments
            .iter()
            .map(|argument| String::from_utf8_lossy(argument));
        self.lines.push(format!(
            "{call} {}",
            arguments.collect::<Vec<_>>().join(" ")
        ));
    }
}

const RESULT: Cow<'static, [u8]> = Cow::Borrowed(b"result");

impl Env for RecordingEnv {
    fn enter(&mut self, _: ContextId) {}

    fn log(&mut self, level: LogLevel, message: &[u8]) {
        self.note(&format!("log {level:?}"), &[message]);
    }

    fn now_ns(&mut self) -> u64 {
        0x0000_0001_0000_0007
    }

    fn random(&mut self, _: &mut [u8]) -> HostResult<()> {
        Ok(())
    }

    fn log_level(&mut self) -> HostResult<LogLevel> {
        Ok(LogLevel::Critical)
    }

    fn set_property(&mut self, path: PropertyPath<'_>, value: &[u8]) -> HostResult<()> {
        self.note("set_property", &[path.0, value]);
        Ok(())
    }

    fn header(&mut self, map: MapType, name: &[u8]) -> HostResult<Cow<'_, [u8]>> {
        self.note(&format!("header {map:?}"), &[name]);
        Ok(RESULT)
    }

    fn add_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> HostResult<()> {
        self.note(&format!("add_header {map:?}"), &[name, value]);
        Ok(())
    }

    fn replace_header(&mut self, map: MapType, name: &[u8], value: &[u8]) -> HostResult<()> {
        self.note(&format!("replace_header {map:?}"), &[name, value]);
        Ok(())
    }

    fn remove_header(&mut self, map: MapType, name: &[u8]) -> HostResult<()> {
        self.note(&format!("remove_header {map:?}"), &[name]);
        Ok(())
    }

    fn buffer(
        &mut self,
        buffer: BufferType,
        start: usize,
        max: usize,
    ) -> HostResult<Cow<'_, [u8]>> {
        self.note(&format!("buffer {buffer:?} {start} {max}"), &[]);
        Ok(RESULT)
    }

    fn set_buffer(
        &mut self,
        buffer: BufferType,
        start: usize,
        size: usize,
        value: &[u8],
    ) -> HostResult<()> {
        self.note(&format!("set_buffer {buffer:?} {start} {size}"), &[value]);
        Ok(())
    }

    fn close_stream(&mut self, stream: StreamType) -> HostResult<()> {
        self.note(&format!("close_stream {stream:?}"), &[]);
        Ok(())
    }

    fn set_tick_period(&mut self, period: Duration) -> HostResult<()> {
        self.note(&format!("report {}", period.as_millis()), &[]);
        Ok(())
    }

    fn shared_data(&mut self, key: &[u8]) -> HostResult<(Cow<'_, [u8]>, u32)> {
        self.note("shared_data", &[key]);
        Ok((RESULT, 7))
    }

    fn set_shared_data(
        &mut self,
        key: &[u8],
        value: &[u8],
        cas: Option<NonZeroU32>,
    ) -> HostResult<()> {
        self.note(&format!("set_shared_data {cas:?}"), &[key, value]);
        Ok(())
    }

    fn register_queue(&mut self, name: &[u8]) -> HostResult<u32> {
        self.note("register_queue", &[name]);
        Ok(7)
    }

    fn resolve_queue(&mut self, vm_id: &[u8], name: &[u8]) -> HostResult<u32> {
        self.note("resolve_queue", &[vm_id, name]);
        Ok(7)
    }

    fn dequeue(&mut self, queue: u32) -> HostResult<Cow<'_, [u8]>> {
        self.note(&format!("dequeue {queue}"), &[]);
        Ok(RESULT)
    }

    fn enqueue(&mut self, queue: u32, item: &[u8]) -> HostResult<()> {
        self.note(&format!("enqueue {queue}"), &[item]);
        Ok(())
    }

    fn define_metric(&mut self, kind: MetricType, name: &[u8]) -> HostResult<u32> {
        self.note(&format!("define_metric {kind:?}"), &[name]);
        Ok(7)
    }

    fn increment_metric(&mut self, metric: u32, by: i64) -> HostResult<()> {
        self.note(&format!("increment_metric {metric} {by}"), &[]);
        Ok(())
    }

    fn record_metric(&mut self, metric: u32, value: u64) -> HostResult<()> {
        self.note(&format!("record_metric {metric} {value}"), &[]);
        Ok(())
    }

    fn metric(&mut self, metric: u32) -> HostResult<u64> {
        self.note(&format!("metric {metric}"), &[]);
        Ok(7)
    }

    fn call_foreign_function(
        &mut self,
        name: &[u8],
        arguments: &[u8],
    ) -> HostResult<Cow<'_, [u8]>> {
        self.note("call_foreign_function", &[name, arguments]);
        Ok(RESULT)
    }

    fn call_status(&mut self) -> HostResult<(u32, Cow<'_, [u8]>)> {
        Ok((7, RESULT))
    }

    fn done(&mut self) -> HostResult<()> {
        self.note("done", &[]);
        Ok(())
    }
}

/// Address and length of `key` in the guest.
const KEY: &str = "100 3";
/// Address and length of `value` in the guest.
const VALUE: &str = "110 5";
/// Address for the result of a number.
const NUMBER: &str = "200";
/// Addresses for the address and length of resulting bytes.
const BYTES: &str = "204 208";

/// Calls of the host when a guest calls `import` with `arguments` (`i64` ones marked with a colon). The guest then reports
/// the resulting number and logs the resulting bytes.
fn call(import: &str, arguments: &str) -> Vec<String> {
    let (mut types, mut values) = (String::new(), String::new());
    for argument in arguments.split_whitespace() {
        let (ty, value) = argument
            .strip_prefix(':')
            .map_or(("i32", argument), |value| ("i64", value));
        types.push_str(&format!(" {ty}"));
        values.push_str(&format!(" ({ty}.const {value})"));
    }
    let imports = format!(
        r#"(import "env" "{import}" (func $f (param{types}) (result i32)))
        (import "env" "proxy_log" (func $log (param i32 i32 i32) (result i32)))"#
    );
    let body = format!(
        r#"(data (i32.const 100) "key") (data (i32.const 110) "value")
        (func (export "proxy_on_tick") (param i32)
            (if (call $f{values}) (then unreachable))
            (if (i32.load (i32.const 200)) (then (call $report (i32.load (i32.const 200)))))
            (if (i32.load (i32.const 204))
                (then (drop (call $log (i32.const 2) (i32.load (i32.const 204)) (i32.load (i32.const 208)))))))"#
    );
    let module = compile(&wat::parse_str(common::guest(&imports, &body)).unwrap()).unwrap();
    let plugin = Plugin::new(&module, Options::default()).unwrap();
    let mut vm = Vm::new(&plugin, RecordingEnv::default()).unwrap();
    let root = vm.create_root().unwrap();
    vm.on_tick(&root).unwrap();
    vm.into_env()
        .lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn plugin_imports() {
    assert_eq!(call("proxy_log", &format!("3 {KEY}")), ["log Warn key"]);
    assert_eq!(call("proxy_get_log_level", NUMBER), ["report 5"]);
    assert_eq!(
        call("proxy_get_current_time_nanoseconds", NUMBER)[0],
        "report 7"
    );
    assert_eq!(
        call("proxy_set_property", &format!("{KEY} {VALUE}")),
        ["set_property key value"]
    );
    assert_eq!(
        call("proxy_set_property", &format!("{KEY} 0 0")),
        ["set_property key"]
    );
    assert_eq!(call("proxy_done", ""), ["done"]);
    assert_eq!(
        call("proxy_get_status", &format!("{NUMBER} {BYTES}")),
        ["report 7", "log Info result"]
    );
    let foreign = call(
        "proxy_call_foreign_function",
        &format!("{KEY} {VALUE} {BYTES}"),
    );
    assert_eq!(
        foreign,
        ["call_foreign_function key value", "log Info result"]
    );
}

#[test]
fn http_imports() {
    let header = call("proxy_get_header_map_value", &format!("0 {KEY} {BYTES}"));
    assert_eq!(header, ["header HttpRequestHeaders key", "log Info result"]);
    let added = call("proxy_add_header_map_value", &format!("1 {KEY} {VALUE}"));
    assert_eq!(added, ["add_header HttpRequestTrailers key value"]);
    let replaced = call(
        "proxy_replace_header_map_value",
        &format!("2 {KEY} {VALUE}"),
    );
    assert_eq!(replaced, ["replace_header HttpResponseHeaders key value"]);
    let removed = call("proxy_remove_header_map_value", &format!("6 {KEY}"));
    assert_eq!(removed, ["remove_header HttpCallResponseHeaders key"]);
    let buffer = call("proxy_get_buffer_bytes", &format!("7 1 9 {BYTES}"));
    assert_eq!(
        buffer,
        ["buffer PluginConfiguration 1 9", "log Info result"]
    );
    let shorter = call("proxy_get_buffer_bytes", &format!("4 1 3 {BYTES}"));
    assert_eq!(shorter, ["buffer HttpCallResponseBody 1 3", "log Info res"]);
    let set = call("proxy_set_buffer_bytes", &format!("1 2 3 {VALUE}"));
    assert_eq!(set, ["set_buffer HttpResponseBody 2 3 value"]);
    assert_eq!(
        call("proxy_close_stream", "1"),
        ["close_stream HttpResponse"]
    );
}

#[test]
fn shared_state_imports() {
    let data = call("proxy_get_shared_data", &format!("{KEY} {BYTES} {NUMBER}"));
    assert_eq!(data, ["shared_data key", "report 7", "log Info result"]);
    let set = call("proxy_set_shared_data", &format!("{KEY} {VALUE} 5"));
    assert_eq!(set, ["set_shared_data Some(5) key value"]);
    let always = call("proxy_set_shared_data", &format!("{KEY} {VALUE} 0"));
    assert_eq!(always, ["set_shared_data None key value"]);
    let registered = call("proxy_register_shared_queue", &format!("{KEY} {NUMBER}"));
    assert_eq!(registered, ["register_queue key", "report 7"]);
    let resolved = call(
        "proxy_resolve_shared_queue",
        &format!("{KEY} {VALUE} {NUMBER}"),
    );
    assert_eq!(resolved, ["resolve_queue key value", "report 7"]);
    assert_eq!(
        call("proxy_dequeue_shared_queue", &format!("4 {BYTES}")),
        ["dequeue 4", "log Info result"]
    );
    assert_eq!(
        call("proxy_enqueue_shared_queue", &format!("4 {VALUE}")),
        ["enqueue 4 value"]
    );
    let defined = call("proxy_define_metric", &format!("2 {KEY} {NUMBER}"));
    assert_eq!(defined, ["define_metric Histogram key", "report 7"]);
    assert_eq!(
        call("proxy_increment_metric", "4 :-3"),
        ["increment_metric 4 -3"]
    );
    assert_eq!(call("proxy_record_metric", "4 :3"), ["record_metric 4 3"]);
    assert_eq!(
        call("proxy_get_metric", &format!("4 {NUMBER}")),
        ["metric 4", "report 7"]
    );
}
