//! Pages that are made once for all who ask, and read by each client at its own pace.
//!
//! A page may be large, and a client may take a byte of it every few seconds. What is kept for such clients is limited in bytes: those
//! of one page of the controller's.
//! While they hold too much, everybody gets the last page once more, and of the others those are closed that nobody was given for
//! a while: whoever reads at a fair pace reads all of it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use sluice_tasks::SharedAnswer;
use tokio::time::Instant;

use crate::budget::PAGE;
use crate::text::CHUNK;

/// The content type of Prometheus' own text format.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// A page is its reader's for so long, however many others ask. Longer than Prometheus waits by default.
const READ_WITHIN: Duration = Duration::from_secs(15);

type Parts = [Bytes];

/// A page of metrics that is made at most once a second. A handle, cheap to clone.
#[derive(Clone, Default)]
pub struct SharedPage {
    page: SharedAnswer<Result<Page, String>>,
    pages: Pages,
}

/// The pages that are read, the last one at the end. A handle, cheap to clone.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<VecDeque<Kept>>>);

struct Kept {
    parts: Arc<Parts>,
    made: Instant,
    /// When somebody was given it for the last time.
    given: Instant,
}

/// A page, as somebody reads it: piece by piece, until it is gone.
#[derive(Clone, Debug)]
pub struct Page {
    parts: Weak<Parts>,
    part: usize,
    offset: usize,
}

/// The page is gone before all of it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSlow;

impl SharedPage {
    /// The page of now or of a second ago, made of these parts, one after the other. While slow readers hold too much it may be one
    /// of `READ_WITHIN` ago.
    ///
    /// # Errors
    ///
    /// It could not be made, for this reason.
    pub async fn get<F, P>(&self, make: impl Fn() -> F) -> Result<Page, String>
    where
        F: Future<Output = Result<P, String>> + Send + 'static,
        P: Into<Arc<Parts>>,
    {
        let compute = || {
            let (pages, parts) = (self.pages.clone(), make());
            async move {
                if let Some(page) = pages.make_room(Instant::now()) {
                    return Ok(page);
                }
                let parts = parts.await?;
                Ok(pages.add(parts, Instant::now()))
            }
        };
        self.page.get(compute).await
    }
}

impl Pages {
    fn add(&self, parts: impl Into<Arc<Parts>>, now: Instant) -> Page {
        let kept = Kept {
            parts: parts.into(),
            made: now,
            given: now,
        };
        let page = kept.page();
        self.lock().push_back(kept);
        page
    }

    /// Makes room for a new page. `Some`: there is none, and this one is given again.
    fn make_room(&self, now: Instant) -> Option<Page> {
        let mut pages = self.lock();
        pages.retain(Kept::is_read);
        let mut held: usize = pages.iter().map(Kept::len).sum();
        while held > PAGE
            && let Some(closed) = pages.pop_front_if(|oldest| now >= oldest.given + READ_WITHIN)
        {
            held -= closed.len();
        }
        // One that is larger than all may be is not the last for ever.
        let is_alone = pages.len() == 1;
        let last = pages.back_mut().filter(|_| held > PAGE)?;
        if is_alone && now >= last.made + READ_WITHIN {
            return None;
        }
        last.given = now;
        Some(last.page())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    fn is_read(&self) -> bool {
        Arc::weak_count(&self.parts) > 0
    }

    fn page(&self) -> Page {
        Page {
            parts: Arc::downgrade(&self.parts),
            part: 0,
            offset: 0,
        }
    }
}

impl Page {
    /// True for two readers of one page.
    #[cfg(test)]
    pub(super) fn is_same(&self, other: &Page) -> bool {
        self.parts.ptr_eq(&other.parts)
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let body = Body::from_stream(stream::iter(self));
        ([(header::CONTENT_TYPE, CONTENT_TYPE)], body).into_response()
    }
}

impl Iterator for Page {
    type Item = Result<Bytes, TooSlow>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(parts) = self.parts.upgrade() else {
            return Some(Err(TooSlow));
        };
        loop {
            let part = parts.get(self.part)?;
            let rest = part.get(self.offset..)?;
            if rest.is_empty() {
                (self.part, self.offset) = (self.part + 1, 0);
                continue;
            }
            let chunk = rest.get(..CHUNK).unwrap_or(rest);
            self.offset += chunk.len();
            if chunk.len() == part.len() {
                return Some(Ok(part.clone()));
            }
            // A slice would keep the whole part.
            return Some(Ok(Bytes::copy_from_slice(chunk)));
        }
    }
}

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the page was read too slowly")
    }
}

impl std::error::Error for TooSlow {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(page: Page) -> Result<Vec<u8>, TooSlow> {
        let chunks = page.collect::<Result<Vec<Bytes>, TooSlow>>()?;
        assert!(chunks.iter().all(|chunk| chunk.len() <= CHUNK));
        Ok(chunks.concat())
    }

    #[test]
    fn a_page_is_read_to_its_end_by_everybody_who_has_it() {
        let pages = Pages::default();
        let parts = [vec![1; CHUNK * 2 + 1], vec![], vec![2; 3]];
        let page = pages.add(parts.clone().map(Bytes::from), Instant::now());
        for _ in 0..2 {
            assert_eq!(read(page.clone()), Ok(parts.concat()));
        }
    }

    /// Somebody asks once a second, and reads nothing. Returns what is given, and the bytes that were kept at most.
    fn ask_for(seconds: u64, len: usize) -> (Vec<Page>, usize) {
        let (pages, begin) = (Pages::default(), Instant::now());
        let (mut given, mut most) = (Vec::new(), 0);
        for second in 0..seconds {
            let now = begin + Duration::from_secs(second);
            let again = pages.make_room(now);
            let new = || pages.add([Bytes::from(vec![0; len])], now);
            given.push(again.unwrap_or_else(new));
            let kept: usize = pages.lock().iter().map(Kept::len).sum();
            most = most.max(kept);
            let within = READ_WITHIN.as_secs() as usize;
            let recent = given.iter().rev().take(within);
            for page in recent {
                assert!(page.clone().next().unwrap().is_ok(), "within its time");
            }
        }
        (given, most)
    }

    #[test]
    fn what_slow_readers_hold_is_limited_in_bytes_and_each_has_its_time() {
        for len in [PAGE, PAGE / 3, PAGE / 100, PAGE * 2] {
            let (given, most) = ask_for(100, len);
            assert!(most <= PAGE.max(len) * 2, "{len}: {most} bytes");
            let is_gone = |page: &&Page| (*page).clone().next().unwrap().is_err();
            let gone = given.iter().filter(is_gone).count();
            // Once a page's time is over there is a new one.
            assert!(gone > 0 || most < PAGE, "{len}");
            let same = |page: &Page| given.iter().filter(|it| it.is_same(page)).count();
            let longest = given.iter().map(same).max().unwrap();
            assert!(longest as u64 <= READ_WITHIN.as_secs(), "{len}: {longest}");
        }
    }

    #[test]
    fn pages_that_nobody_reads_are_gone() {
        let (pages, now) = (Pages::default(), Instant::now());
        let slow: Vec<Page> = (0..3)
            .map(|_| pages.add([Bytes::from(vec![0; 3])], now))
            .collect();
        assert!(pages.make_room(now).is_none());
        assert_eq!(pages.lock().len(), 3);
        drop(slow);
        assert!(pages.make_room(now).is_none());
        assert_eq!(pages.lock().len(), 0);
    }
}
