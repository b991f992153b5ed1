//! The WASI functions that a Rust guest imports.

mod common;

use common::{NOW, guest, reported_by_tick, start};
use sluice_wasm_host::{Cause, LogLevel};

/// An import of a WASI function as `$f`.
fn wasi(name: &str, parameters: &str) -> String {
    format!(
        r#"(import "wasi_snapshot_preview1" "{name}" (func $f (param {parameters}) (result i32)))"#
    )
}

#[test]
fn guest_output_is_logged() {
    let body = r#"
        (data (i32.const 0) "\40\00\00\00\06\00\00\00\46\00\00\00\06\00\00\00")
        (data (i32.const 64) "hello world\n")
        (func (export "proxy_on_tick") (param i32)
            (call $report (call $f (i32.const 1) (i32.const 0) (i32.const 2) (i32.const 32)))
            (call $report (i32.load (i32.const 32)))
            (call $report (call $f (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 32)))
            (call $report (call $f (i32.const 3) (i32.const 0) (i32.const 1) (i32.const 32)))
            (call $report (call $f (i32.const 1) (i32.const 65532) (i32.const 1) (i32.const 32)))
            (call $report (call $f (i32.const 1) (i32.const -8) (i32.const 2) (i32.const 32)))
            (call $report (call $f (i32.const 1) (i32.const 0) (i32.const -1) (i32.const 32)))
            (call $report (call $f (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 65535))))"#;
    let (mut vm, root) = start(&guest(&wasi("fd_write", "i32 i32 i32 i32"), body));
    vm.on_tick(&root).unwrap();
    assert_eq!(vm.env().reported, [0, 12, 0, 8, 21, 21, 28, 21]);
    let lines = [
        (LogLevel::Info, "hello world".to_owned()),
        (LogLevel::Error, "hello ".to_owned()),
    ];
    assert_eq!(vm.env().log, lines);
}

#[test]
fn overlapping_iovecs_copy_no_more_than_the_guest_memory() {
    let body =
        "(i32.store (i32.const 4) (i32.const 65536)) (i32.store (i32.const 12) (i32.const 65536))
        (call $report (call $f (i32.const 1) (i32.const 0) (i32.const 2) (i32.const 32)))";
    assert_eq!(
        reported_by_tick(&wasi("fd_write", "i32 i32 i32 i32"), body),
        [28]
    );
}

#[test]
fn arguments_and_environment_are_empty() {
    for name in ["args_sizes_get", "environ_sizes_get"] {
        let body = "(i32.store (i32.const 0) (i32.const 5)) (i32.store (i32.const 4) (i32.const 5))
            (call $report (call $f (i32.const 0) (i32.const 4)))
            (call $report (i32.load (i32.const 0))) (call $report (i32.load (i32.const 4)))
            (call $report (call $f (i32.const 0) (i32.const 65534)))";
        assert_eq!(
            reported_by_tick(&wasi(name, "i32 i32"), body),
            [0, 0, 0, 21]
        );
    }
    for name in ["args_get", "environ_get"] {
        let body = "(call $report (call $f (i32.const 0) (i32.const 0)))";
        assert_eq!(reported_by_tick(&wasi(name, "i32 i32"), body), [0]);
    }
}

#[test]
fn clock_comes_from_the_host() {
    let body = "(call $report (call $f (i32.const 0) (i64.const 1) (i32.const 0)))
        (call $report (i32.wrap_i64 (i64.div_u (i64.load (i32.const 0)) (i64.const 1000000000))))
        (call $report (call $f (i32.const 1) (i64.const 1) (i32.const 65529)))
        (call $report (call $f (i32.const 2) (i64.const 1) (i32.const 0)))";
    let seconds = u128::from(NOW / 1_000_000_000);
    assert_eq!(
        reported_by_tick(&wasi("clock_time_get", "i32 i64 i32"), body),
        [0, seconds, 21, 28]
    );
}

#[test]
fn random_bytes_come_from_the_host() {
    let body = "(call $report (call $f (i32.const 1) (i32.const 2)))
        (call $report (i32.load (i32.const 0)))
        (call $report (call $f (i32.const 65535) (i32.const 2)))
        (call $report (call $f (i32.const 0) (i32.const -1)))";
    assert_eq!(
        reported_by_tick(&wasi("random_get", "i32 i32"), body),
        [0, 0x0007_0700, 21, 28]
    );
}

#[test]
fn exit_is_a_trap_with_its_code() {
    let import = r#"(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))"#;
    let body = r#"(func (export "proxy_on_tick") (param i32) (call $exit (i32.const 3)))"#;
    let (mut vm, root) = start(&guest(import, body));
    assert_eq!(vm.on_tick(&root).unwrap_err().cause, Cause::Exit(3));
}

#[test]
fn there_are_no_files() {
    for (name, errno) in [
        ("fd_prestat_get", 8),
        ("path_open", 8),
        ("sock_accept", 52),
        ("sched_yield", 0),
    ] {
        let import =
            format!(r#"(import "wasi_snapshot_preview1" "{name}" (func $f (result i32)))"#);
        assert_eq!(
            reported_by_tick(&import, "(call $report (call $f))"),
            [errno],
            "{name}"
        );
    }
}
