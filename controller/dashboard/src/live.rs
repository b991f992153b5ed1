//! Says to browsers that something has changed: the translation, or what data planes have answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, stream};
use tokio::time::{MissedTickBehavior, interval};

use crate::index::Indexed;

/// How often a browser may learn of something.
const PERIOD: Duration = Duration::from_secs(1);

pub(crate) async fn changes(
    State(indexed): State<Arc<Indexed>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let known = indexed.state();
    let events = stream::unfold((ticks, known), move |(mut ticks, known)| {
        let indexed = Arc::clone(&indexed);
        async move {
            loop {
                ticks.tick().await;
                let now = indexed.state();
                if now != known {
                    let name = match now.is_of_the_same_configuration(&known) {
                        true => "traffic",
                        false => "change",
                    };
                    let event = Event::default().event(name).data("-");
                    return Some((Ok(event), (ticks, now)));
                }
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}
