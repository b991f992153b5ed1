//! How an echo pod behaves when it shall not just echo.

use std::collections::BTreeMap;
use std::time::Duration;

/// The behaviour of a pod; the default echoes everything with status 200.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Answers by exact path; `*` is any other path. A path without an answer is echoed.
    pub answers: BTreeMap<String, Answer>,
    /// Rest before every answer.
    pub delay: Duration,
    /// The first requests fail: how many, and with which status.
    pub fail_first: Option<(u64, u16)>,
    /// Close the connection instead of answering.
    pub hang_up: bool,
}

/// One prepared answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// The body; `None` echoes the request.
    pub body: Option<String>,
    /// Rest before this answer.
    pub delay: Duration,
}

impl Default for Answer {
    fn default() -> Self {
        Answer {
            status: 200,
            headers: Vec::new(),
            body: None,
            delay: Duration::ZERO,
        }
    }
}

impl Script {
    /// Echoes everything.
    pub fn echo() -> Script {
        Script::default()
    }

    /// Echoes with this status.
    pub fn status(status: u16) -> Script {
        Script::echo().answer(
            "*",
            Answer {
                status,
                ..Answer::default()
            },
        )
    }

    /// Closes every connection instead of answering.
    pub fn hang_up() -> Script {
        Script {
            hang_up: true,
            ..Script::default()
        }
    }

    /// Answers a path (`*`: any other).
    #[must_use]
    pub fn answer(mut self, path: &str, answer: Answer) -> Script {
        self.answers.insert(path.to_owned(), answer);
        self
    }

    /// Rests before every answer.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Script {
        self.delay = delay;
        self
    }

    /// Fails the first `count` requests.
    #[must_use]
    pub fn fail_first(mut self, count: u64, status: u16) -> Script {
        self.fail_first = Some((count, status));
        self
    }

    /// The answer to the `n`th request (counted from 0) since the script was set.
    /// `otherwise` is asked before `*` is.
    pub(crate) fn answer_to(
        &self,
        n: u64,
        path: &str,
        otherwise: impl FnOnce() -> Option<Answer>,
    ) -> Answer {
        if let Some((count, status)) = self.fail_first
            && n < count
        {
            return Answer {
                status,
                ..Answer::default()
            };
        }
        let exact = self.answers.get(path).cloned();
        exact
            .or_else(otherwise)
            .or_else(|| self.answers.get("*").cloned())
            .unwrap_or_default()
    }
}
