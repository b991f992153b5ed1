//! Host calls: statuses, invalid pointers, serialized maps.

mod common;

use std::time::Duration;

use common::{Call, Reply, guest, reported_by_tick, start, start_with};
use sluice_wasm_host::{Cause, Options, Unimplemented};

const GET_PROPERTY: &str =
    r#"(import "env" "proxy_get_property" (func $get (param i32 i32 i32 i32) (result i32)))"#;
const LOG: &str = r#"(import "env" "proxy_log" (func $log (param i32 i32 i32) (result i32)))"#;

const OUTSIDE: u128 = 6;

#[test]
fn out_of_bounds_pointers_return_a_status() {
    let cases = [
        "(i32.const 2) (i32.const 65530) (i32.const 7)",
        "(i32.const 2) (i32.const 0) (i32.const 65537)",
        "(i32.const 2) (i32.const -1) (i32.const -1)",
        "(i32.const 2) (i32.const 65537) (i32.const 0)",
    ];
    for arguments in cases {
        assert_eq!(
            reported_by_tick(LOG, &format!("(call $report (call $log {arguments}))")),
            [OUTSIDE]
        );
    }
    let whole = "(call $report (call $log (i32.const 2) (i32.const 0) (i32.const 65536)))";
    assert_eq!(reported_by_tick(LOG, whole), [0]);
}

#[test]
fn out_of_bounds_result_addresses_return_a_status() {
    for places in [
        "(i32.const 65533) (i32.const 0)",
        "(i32.const 0) (i32.const -2)",
    ] {
        let body = format!("(call $report (call $get (i32.const 0) (i32.const 1) {places}))");
        assert_eq!(reported_by_tick(GET_PROPERTY, &body), [OUTSIDE]);
    }
    let clock = r#"(import "env" "proxy_get_current_time_nanoseconds" (func $now (param i32) (result i32)))"#;
    assert_eq!(
        reported_by_tick(clock, "(call $report (call $now (i32.const 65529)))"),
        [OUTSIDE]
    );
}

#[test]
fn guest_without_memory_gets_a_status() {
    let wat = r#"(module
        (import "env" "proxy_log" (func $log (param i32 i32 i32) (result i32)))
        (import "env" "proxy_set_tick_period_milliseconds" (func $report (param i32) (result i32)))
        (func (export "proxy_on_tick") (param i32)
            (drop (call $report (call $log (i32.const 2) (i32.const 0) (i32.const 0))))))"#;
    let (mut vm, root) = start(wat);
    vm.on_tick(&root).unwrap();
    assert_eq!(vm.env().reported, [OUTSIDE]);
}

/// A guest with this allocator that reads a property and logs it.
fn reader(allocator: &str) -> String {
    format!(
        r#"(module {GET_PROPERTY} {LOG}
        (import "env" "proxy_set_tick_period_milliseconds" (func $report (param i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 100) "ngx\00name")
        {allocator}
        (func (export "proxy_on_tick") (param i32)
            (i32.store (i32.const 0) (i32.const -1))
            (drop (call $report (call $get (i32.const 100) (i32.const 8) (i32.const 0) (i32.const 4))))
            (drop (call $report (i32.load (i32.const 0))))
            (drop (call $log (i32.const 2) (i32.load (i32.const 0)) (i32.load (i32.const 4))))))"#
    )
}

#[test]
fn results_are_written_to_memory_that_the_guest_allocates() {
    for name in ["proxy_on_memory_allocate", "malloc"] {
        let allocator =
            format!(r#"(func (export "{name}") (param i32) (result i32) (i32.const 4096))"#);
        let (mut vm, root) = start(&reader(&allocator));
        for value in ["short", &"long ".repeat(9000), "short"] {
            vm.env_mut().property = value.as_bytes().to_vec();
            vm.on_tick(&root).unwrap();
            assert_eq!(vm.env().log.last().unwrap().1, value);
        }
        assert_eq!(vm.env().properties_read[0], b"ngx\0name");
        assert_eq!(vm.env().reported[..2], [0, 4096]);
    }
}

#[test]
fn empty_result_is_null_and_needs_no_allocator() {
    let (mut vm, root) = start(&reader(""));
    vm.on_tick(&root).unwrap();
    assert_eq!(vm.env().reported, [0, 0]);
    vm.env_mut().property = b"x".to_vec();
    vm.on_tick(&root).unwrap();
    assert_eq!(vm.env().reported[2], 10, "no allocator");
}

#[test]
fn broken_allocator_affects_only_the_guest() {
    for address in ["0", "65533", "-1"] {
        let allocator =
            format!(r#"(func (export "malloc") (param i32) (result i32) (i32.const {address}))"#);
        let (mut vm, root) = start(&reader(&allocator));
        vm.env_mut().property = b"12345".to_vec();
        vm.on_tick(&root).unwrap();
        assert_eq!(vm.env().reported[0], OUTSIDE);
    }
    let (mut vm, root) = start(&reader(
        r#"(func (export "malloc") (param i32) (result i32) unreachable)"#,
    ));
    vm.env_mut().property = b"12345".to_vec();
    assert_eq!(vm.on_tick(&root).unwrap_err().cause, Cause::Guest);
    assert!(vm.env().reported.is_empty(), "the guest ran on");
}

/// An import that is not in the ABI, and one of the ABI that the fake host does not implement.
const ABSENT: [&str; 2] = ["proxy_of_another_abi", "proxy_done"];

#[test]
fn unimplemented_calls_return_a_status() {
    for name in ABSENT {
        let import = format!(r#"(import "env" "{name}" (func $absent (result i32)))"#);
        assert_eq!(
            reported_by_tick(&import, "(call $report (call $absent))"),
            [12]
        );
    }
}

#[test]
fn unimplemented_calls_trap_if_configured() {
    let options = Options {
        unimplemented: Unimplemented::Trap,
        ..Options::default()
    };
    for name in ABSENT {
        let import = format!(r#"(import "env" "{name}" (func $absent (result i32)))"#);
        let body = r#"(func (export "proxy_on_tick") (param i32) (drop (call $absent)))"#;
        let (mut vm, root) = start_with(&guest(&import, body), options);
        let trap = vm.on_tick(&root).unwrap_err();
        assert_eq!(trap.cause, Cause::Guest);
        assert!(trap.message.contains(name), "{trap}");
    }
}

#[test]
fn numbers_outside_an_enum_are_bad_arguments() {
    let import =
        r#"(import "env" "proxy_continue_stream" (func $continue (param i32) (result i32)))"#;
    let body = "(call $report (call $continue (i32.const 3))) (call $report (call $continue (i32.const 4)))";
    assert_eq!(reported_by_tick(import, body), [1003, 0, 2]);
}

#[test]
fn only_live_contexts_can_become_effective() {
    let import =
        r#"(import "env" "proxy_set_effective_context" (func $switch (param i32) (result i32)))"#;
    let body = r#"(func (export "proxy_on_queue_ready") (param i32 i32)
        (call $report (call $switch (local.get 1))))"#;
    let (mut vm, root) = start(&guest(import, body));
    let http = vm.create_http(&root).unwrap();
    let id = http.id();
    vm.on_queue_ready(&root, id.0).unwrap();
    assert_eq!(vm.env().entered, [root.id(), id]);
    vm.on_delete(http).unwrap();
    for dead in [id.0, 0, 999] {
        vm.on_queue_ready(&root, dead).unwrap();
    }
    assert_eq!(vm.env().reported, [0, 2, 2, 2]);
}

const MAPS: &str = r#"
    (import "env" "proxy_get_header_map_pairs" (func $all (param i32 i32 i32) (result i32)))
    (import "env" "proxy_set_header_map_pairs" (func $set (param i32 i32 i32) (result i32)))"#;

#[test]
fn header_map_passes_through_the_guest_unchanged() {
    let body = r#"(func (export "proxy_on_tick") (param i32)
        (call $report (call $all (i32.const 0) (i32.const 0) (i32.const 4)))
        (call $report (call $set (i32.const 2) (i32.load (i32.const 0)) (i32.load (i32.const 4)))))"#;
    let (mut vm, root) = start(&guest(MAPS, body));
    let headers = [
        (":path", "/"),
        ("x-empty", ""),
        ("cookie", "a=b"),
        ("cookie", "c=d"),
    ];
    vm.env_mut().request = headers
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect();
    for _ in 0..2 {
        vm.on_tick(&root).unwrap();
        assert_eq!(vm.env().response, vm.env().request);
    }
    vm.env_mut().request.clear();
    vm.on_tick(&root).unwrap();
    assert!(vm.env().response.is_empty());
    assert_eq!(vm.env().reported, [0; 6]);
}

#[test]
fn invalid_header_map_is_a_parse_failure() {
    let body = "(i32.store (i32.const 0) (i32.const 0x7fffffff))
        (call $report (call $set (i32.const 2) (i32.const 0) (i32.const 100)))";
    assert_eq!(reported_by_tick(MAPS, body), [4]);
}

#[test]
fn local_responses_and_calls_reach_the_host_complete() {
    let imports = r#"
        (import "env" "proxy_send_local_response" (func $reply (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
        (import "env" "proxy_http_call" (func $http (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))"#;
    let body = r#"
        (data (i32.const 100) "\01\00\00\00\01\00\00\00\01\00\00\00a\00b\00")
        (data (i32.const 200) "upstream")
        (func (export "proxy_on_tick") (param i32)
            (call $report (call $reply (i32.const 403) (i32.const 200) (i32.const 2) (i32.const 202) (i32.const 6)
                (i32.const 100) (i32.const 16) (i32.const -1)))
            (call $report (call $http (i32.const 200) (i32.const 8) (i32.const 100) (i32.const 16)
                (i32.const 200) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 1500) (i32.const 400)))
            (call $report (i32.load (i32.const 400)))
            (call $report (call $http (i32.const 200) (i32.const 8) (i32.const 100) (i32.const 16)
                (i32.const 200) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 1500) (i32.const 65535))))"#;
    let (mut vm, root) = start(&guest(imports, body));
    vm.on_tick(&root).unwrap();
    assert_eq!(vm.env().reported, [0, 0, 77, OUTSIDE]);
    let headers = vec![(b"a".to_vec(), b"b".to_vec())];
    let reply = Reply {
        status: 403,
        details: b"up".to_vec(),
        body: b"stream".to_vec(),
        headers: headers.clone(),
        grpc_status: None,
    };
    assert_eq!(vm.env().local, Some(reply));
    let call = Call {
        upstream: b"upstream".to_vec(),
        headers,
        body: b"up".to_vec(),
        trailers: vec![],
        timeout: Duration::from_millis(1500),
    };
    assert_eq!(
        vm.env().calls,
        [call],
        "a call was made although its token cannot be returned"
    );
}
