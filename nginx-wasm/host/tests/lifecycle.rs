//! Instances, contexts, traps and limits.

mod common;

use common::{FakeEnv, guest, start, start_with, try_start};
use sluice_wasm_host::{Action, Cause, Context, ContextId, Options, Plugin, Vm, compile};

const HTTP: &str = r#"
    (func (export "proxy_on_context_create") (param i32 i32)
        (call $report (i32.add (i32.mul (local.get 0) (i32.const 10)) (local.get 1))))
    (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
        (if (i32.eq (local.get 1) (i32.const 666)) (then unreachable))
        (local.get 1))
    (func (export "proxy_on_delete") (param i32) (call $report (local.get 0)))
"#;

#[test]
fn guest_without_callbacks_continues_every_stream() {
    let (mut vm, root) = start("(module)");
    assert!(vm.on_vm_start(&root, 0).unwrap());
    assert!(vm.on_configure(&root, 0).unwrap());
    vm.on_tick(&root).unwrap();
    let http = vm.create_http(&root).unwrap();
    assert_eq!(
        vm.on_request_headers(&http, 1, true).unwrap(),
        Action::Continue
    );
    assert_eq!(
        vm.on_request_body(&http, 1, true).unwrap(),
        Action::Continue
    );
    assert_eq!(vm.on_request_trailers(&http, 1).unwrap(), Action::Continue);
    assert_eq!(
        vm.on_response_headers(&http, 1, true).unwrap(),
        Action::Continue
    );
    assert_eq!(
        vm.on_response_body(&http, 1, true).unwrap(),
        Action::Continue
    );
    assert_eq!(vm.on_response_trailers(&http, 1).unwrap(), Action::Continue);
    vm.on_http_call_response(&http, 1, 0, 0, 0).unwrap();
    vm.on_queue_ready(&root, 1).unwrap();
    vm.on_foreign_function(&root, 1, 0).unwrap();
    assert!(vm.on_done(&http).unwrap());
    vm.on_log(&http).unwrap();
    vm.on_delete(http).unwrap();
    assert!(
        vm.env().entered.is_empty(),
        "the guest was entered for nothing"
    );
}

#[test]
fn callbacks_receive_context_and_arguments() {
    let (mut vm, root) = start(&guest("", HTTP));
    let http = vm.create_http(&root).unwrap();
    assert_eq!(
        vm.on_request_headers(&http, 0, true).unwrap(),
        Action::Continue
    );
    assert_eq!(
        vm.on_request_headers(&http, 1, true).unwrap(),
        Action::Pause
    );
    vm.on_delete(http).unwrap();
    assert_eq!(vm.env().reported, [10, 21, 2]);
    assert_eq!(vm.env().entered, [1, 2, 2, 2, 2].map(ContextId));
    assert_eq!(vm.env().left, 5);
}

#[test]
fn unknown_action_pauses() {
    let (mut vm, root) = start(&guest("", HTTP));
    let http = vm.create_http(&root).unwrap();
    assert_eq!(
        vm.on_request_headers(&http, 9, true).unwrap(),
        Action::Pause
    );
}

#[test]
fn initialize_runs_first() {
    for name in ["_initialize", "_start"] {
        let body = format!(r#"(func (export "{name}") (call $report (i32.const 5)))"#);
        assert_eq!(start(&guest("", &body)).0.env().reported, [5]);
    }
}

/// A VM that trapped in a request, with its contexts.
fn trapped() -> (Vm<FakeEnv>, Context, Context) {
    let (mut vm, root) = start(&guest("", HTTP));
    let http = vm.create_http(&root).unwrap();
    let trap = vm.on_request_headers(&http, 666, true).unwrap_err();
    assert_eq!(
        (trap.call, trap.cause),
        ("proxy_on_request_headers", Cause::Guest)
    );
    assert!(trap.to_string().contains("unreachable"), "{trap}");
    (vm, root, http)
}

#[test]
fn trap_kills_the_instance() {
    let (mut vm, root, http) = trapped();
    assert!(!vm.is_live(&http));
    assert_eq!(vm.trap().unwrap().cause, Cause::Guest);
    assert_eq!(vm.env().entered.len(), vm.env().left);
    assert_eq!(
        vm.on_request_headers(&http, 0, true).unwrap_err().cause,
        Cause::Dead
    );
    assert_eq!(vm.create_http(&root).unwrap_err().cause, Cause::Dead);
}

#[test]
fn contexts_of_an_older_instance_are_stale() {
    let (vm, old_root, old_http) = trapped();
    let mut vm = vm.restart();
    assert_eq!(vm.trap(), None);
    assert_eq!(
        vm.env().reported,
        [10, 21],
        "the host outlives the instance"
    );
    assert_eq!(
        vm.on_request_headers(&old_http, 666, true).unwrap(),
        Action::Continue
    );
    let stale = vm.create_http(&old_root).unwrap();
    assert!(!vm.is_live(&stale));
    vm.on_delete(stale).unwrap();
    assert_eq!(
        vm.env().reported,
        [10, 21],
        "the guest was called for stale contexts"
    );

    let root = vm.create_root().unwrap();
    assert!(vm.is_live(&root));
    assert!(
        ![old_root.id(), old_http.id()].contains(&root.id()),
        "an id is used twice"
    );
    vm.on_delete(old_http).unwrap();
    let http = vm.create_http(&root).unwrap();
    assert_eq!(
        vm.on_request_headers(&http, 1, true).unwrap(),
        Action::Pause
    );
}

#[test]
fn failed_context_creation_frees_the_id() {
    let body = r#"(func (export "proxy_on_context_create") (param i32 i32) unreachable)"#;
    let mut vm = try_start(&guest("", body), Options::default()).unwrap();
    assert_eq!(vm.create_root().unwrap_err().cause, Cause::Guest);
    assert_eq!(vm.trap().unwrap().call, "proxy_on_context_create");
}

/// Guests that loop in a callback, or in their allocator inside a host call.
const LOOPS: [&str; 2] = [
    r#"(module (func (export "proxy_on_tick") (param i32) (loop (br 0))))"#,
    r#"(module (import "env" "proxy_get_property" (func $get (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "malloc") (param i32) (result i32) (loop (br 0)) unreachable)
        (func (export "proxy_on_tick") (param i32)
            (drop (call $get (i32.const 0) (i32.const 1) (i32.const 8) (i32.const 12)))))"#,
];

#[test]
fn looping_guest_is_interrupted() {
    for wat in LOOPS {
        let options = Options {
            deadline_ticks: Some(2),
            ..Options::default()
        };
        let module = compile(&wat::parse_str(wat).unwrap()).unwrap();
        let env = FakeEnv {
            property: b"x".to_vec(),
            ..FakeEnv::default()
        };
        let mut vm = Vm::new(&Plugin::new(&module, options).unwrap(), env).unwrap();
        let root = vm.create_root().unwrap();
        let engine = module.engine().clone();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let ticker = std::thread::spawn(move || {
            while stopped.try_recv().is_err() {
                std::thread::sleep(std::time::Duration::from_millis(1));
                engine.increment_epoch();
            }
        });
        assert_eq!(vm.on_tick(&root).unwrap_err().cause, Cause::Deadline);
        stop.send(()).unwrap();
        ticker.join().unwrap();
    }
}

#[test]
fn deadline_starts_with_the_call() {
    let body = r#"(func (export "proxy_on_tick") (param i32) (call $report (i32.const 1)))"#;
    let module = compile(&wat::parse_str(guest("", body)).unwrap()).unwrap();
    for deadline_ticks in [Some(2), None] {
        let options = Options {
            deadline_ticks,
            ..Options::default()
        };
        let mut vm = Vm::new(&Plugin::new(&module, options).unwrap(), FakeEnv::default()).unwrap();
        let root = vm.create_root().unwrap();
        for _ in 0..3 {
            (0..5).for_each(|_| module.engine().increment_epoch());
            vm.on_tick(&root).unwrap();
        }
    }
}

#[test]
fn callbacks_that_are_skipped_are_not_called() {
    let body = r#"
        (func (export "proxy_on_context_create") (param i32 i32) (call $report (i32.const 1)))
        (func (export "proxy_on_log") (param i32) (call $report (i32.const 2)))
        (func (export "proxy_on_done") (param i32) (result i32) (call $report (i32.const 3)) (i32.const 0))
        (func (export "proxy_on_delete") (param i32) (call $report (i32.const 4)))"#;
    for (skipped, expected) in [
        (&[][..], &[1, 1, 2, 3, 4][..]),
        (
            &[
                "proxy_on_context_create",
                "proxy_on_done",
                "proxy_on_delete",
            ],
            &[2],
        ),
    ] {
        let options = Options {
            skipped,
            ..Options::default()
        };
        let (mut vm, root) = start_with(&guest("", body), options);
        let request = vm.create_http(&root).unwrap();
        vm.on_log(&request).unwrap();
        // A guest that is not asked is done.
        assert_eq!(vm.on_done(&request).unwrap(), !skipped.is_empty());
        vm.on_delete(request).unwrap();
        assert_eq!(vm.env().reported, expected);
    }
}

#[test]
fn memory_does_not_grow_beyond_the_limit() {
    let body = r#"(func (export "proxy_on_tick") (param i32)
        (call $report (memory.grow (i32.const 1)))
        (call $report (i32.add (memory.grow (i32.const 1)) (i32.const 100))))"#;
    let options = Options {
        memory_bytes: 2 << 16,
        ..Options::default()
    };
    let (mut vm, root) = start_with(&guest("", body), options);
    vm.on_tick(&root).unwrap();
    assert_eq!(vm.env().reported, [1, 99]);
}

#[test]
fn tables_do_not_grow_beyond_the_limit() {
    let body = r#"(table $table 1 funcref) (func (export "proxy_on_tick") (param i32)
        (call $report (i32.add (i32.const 100) (table.grow $table (ref.null func) (i32.const 1000000)))))"#;
    let (mut vm, root) = start(&guest("", body));
    vm.on_tick(&root).unwrap();
    assert_eq!(vm.env().reported, [99]);
}

#[test]
fn guest_that_starts_above_the_memory_limit_is_rejected() {
    let options = Options {
        memory_bytes: 1 << 10,
        ..Options::default()
    };
    assert_eq!(
        try_start(&guest("", ""), options).err().unwrap().cause,
        Cause::Start
    );
}

#[test]
fn callback_of_another_type_is_rejected() {
    let trap = try_start(
        r#"(module (func (export "proxy_on_log") (param i64)))"#,
        Options::default(),
    )
    .err()
    .unwrap();
    assert_eq!(trap.cause, Cause::Start);
    assert!(trap.message.contains("proxy_on_log"), "{trap}");
}

#[test]
fn import_of_another_module_is_rejected() {
    let trap = try_start(
        r#"(module (import "js" "alert" (func)))"#,
        Options::default(),
    )
    .err()
    .unwrap();
    assert_eq!((trap.call, trap.cause), ("link", Cause::Start));
    assert!(trap.message.contains("alert"), "{trap}");
}

#[test]
fn import_of_another_type_is_rejected() {
    let wat = r#"(module (import "env" "proxy_log" (func (param i32) (result i32))))"#;
    assert_eq!(
        try_start(wat, Options::default()).err().unwrap().cause,
        Cause::Start
    );
}

#[test]
fn endless_recursion_is_a_trap() {
    let body = r#"(func $f (export "proxy_on_tick") (param i32) (call $f (local.get 0)) (call $f (local.get 0)))"#;
    let (mut vm, root) = start(&guest("", body));
    assert_eq!(vm.on_tick(&root).unwrap_err().cause, Cause::Guest);
}
