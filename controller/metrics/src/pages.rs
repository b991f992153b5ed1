//! Pages that are made once for all who ask, and read by each client at its own pace.
//!
//! A page may be large, and a client may take a byte of it every few seconds. What is kept for such clients is limited: a
//! client loses its page when so many newer ones were made, of which there is one a second at most.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;

use crate::shared_answer::SharedAnswer;

/// The content type of Prometheus' own text format.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Pages that are kept for those who read them: each has 4 s for its page, and more when few pages are asked for.
const MOST: usize = 4;
/// Bytes that are taken out of a page at once.
const CHUNK: usize = 64 << 10;

type Parts = [Bytes];

/// A page of metrics that is made at most once a second. A handle, cheap to clone.
#[derive(Clone, Default)]
pub struct SharedPage {
    page: SharedAnswer<Result<Page, String>>,
    pages: Pages,
}

/// The pages that are read. A handle, cheap to clone.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<VecDeque<Arc<Parts>>>>);

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
    /// The page of now or of a second ago, made of these parts, one after the other.
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
                pages.tidy();
                Ok(pages.add(parts.await?))
            }
        };
        self.page.get(compute).await
    }
}

impl Pages {
    fn add(&self, parts: impl Into<Arc<Parts>>) -> Page {
        let parts = parts.into();
        let page = Page {
            parts: Arc::downgrade(&parts),
            part: 0,
            offset: 0,
        };
        let mut pages = self.lock();
        pages.push_back(parts);
        while pages.len() > MOST {
            pages.pop_front();
        }
        page
    }

    /// Forgets what nobody reads any more.
    fn tidy(&self) {
        self.lock().retain(|page| Arc::weak_count(page) > 0);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Parts>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
            let rest = parts.get(self.part)?.get(self.offset..)?;
            if rest.is_empty() {
                (self.part, self.offset) = (self.part + 1, 0);
                continue;
            }
            let chunk = rest.get(..CHUNK).unwrap_or(rest);
            self.offset += chunk.len();
            // A slice would keep the whole page.
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
        let page = pages.add(parts.clone().map(Bytes::from));
        for _ in 0..2 {
            assert_eq!(read(page.clone()), Ok(parts.concat()));
        }
    }

    #[test]
    fn pages_of_slow_readers_are_few_and_those_of_none_are_gone() {
        let pages = Pages::default();
        let make = || pages.add([Bytes::from(vec![0; CHUNK * 3])]);
        let mut slow: Vec<Page> = (0..100).map(|_| make()).collect();
        assert_eq!(pages.lock().len(), MOST);
        for (number, page) in slow.iter_mut().enumerate() {
            assert_eq!(
                page.next().unwrap().is_ok(),
                number >= 100 - MOST,
                "{number}"
            );
        }
        slow.truncate(101 - MOST);
        pages.tidy();
        assert_eq!(pages.lock().len(), 1);
        drop(slow);
        pages.tidy();
        assert_eq!(pages.lock().len(), 0);
    }
}
