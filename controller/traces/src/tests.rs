use std::sync::Mutex;

use sluice_ir::Collector;

use super::*;

/// A line with this span id.
fn line(id: usize) -> String {
    format!(
        r#"{{"trace":"0af7651916cd43dd8448eb211c80319c","span":"{id:016x}","parent":"","state":"","route":"r","route_operation":"","operation":"","end":"1.000","duration":"0.000","status":"200","method":"GET","scheme":"http","host":"h","target":"/","protocol":"HTTP/1.1","agent":"","peer":"127.0.0.1","peer_port":"5","port":"80","proxied_port":"","upstream":"","backend":"","main":"","id":"","received":"1","sent":"1"}}"#
    )
}

fn lines(count: usize) -> Vec<u8> {
    (1..=count)
        .map(|id| line(id) + "\n")
        .collect::<String>()
        .into()
}

type Counted = Arc<Mutex<[usize; 2]>>;

/// To a port of loopback; 1 is nobody's.
fn traces(port: u16, most: u32) -> (Traces, Counted) {
    let collector = Collector {
        host: "127.0.0.1".to_owned(),
        port,
    };
    let tracing = Tracing {
        max_queue_size: most,
        ..Tracing::to(collector)
    };
    let counted = Counted::default();
    let count = {
        let counted = Arc::clone(&counted);
        move |outcome, spans| {
            counted.lock().unwrap()[usize::from(outcome == Outcome::Dropped)] += spans;
        }
    };
    (Traces::new(move || Some(tracing.clone()), count), counted)
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_drops_and_counts_and_the_reader_goes_on() {
    let (traces, counted) = traces(1, 10);
    let began = Instant::now();
    traces.take(&lines(25)).await;
    assert_eq!(*counted.lock().unwrap(), [0, 15]);
    assert!(began.elapsed() <= ROOM_TIMEOUT + Duration::from_millis(10));
}

#[tokio::test]
async fn a_collector_that_refuses_connections_costs_no_span_that_has_room() {
    let (traces, counted) = traces(1, 10);
    traces.take(&lines(5)).await;
    let export = traces.clone().export();
    let failed = async {
        while !traces.0.queue.fails() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = export => {},
        () = failed => {},
    }
    assert_eq!(*counted.lock().unwrap(), [0, 0]);
    assert!(traces.0.queue.has_room(6) && !traces.0.queue.has_room(5));
    // Now nobody waits for room.
    let began = Instant::now();
    traces.take(&lines(10)).await;
    assert!(began.elapsed() < ROOM_TIMEOUT);
    assert_eq!(*counted.lock().unwrap(), [0, 5]);
}

#[tokio::test]
async fn lines_that_are_none_are_counted() {
    let (traces, counted) = traces(1, 10);
    traces.take(b"nonsense\n\n{}\n").await;
    assert_eq!(*counted.lock().unwrap(), [0, 2]);
}
