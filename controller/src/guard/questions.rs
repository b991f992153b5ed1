//! What the answers of services mean.

use std::sync::Arc;

use sluice_ir::{Backend, Question};
use sluice_xds::{COOKIE_HEADER, Changes, Check, MOST_COOKIES, Verdict};
use tracing::debug;

use super::ask::{self, Answer};
use super::expression::text;
use super::memory::Memory;
use super::refuse;

/// What a service says about a request, in terms of it: what changes, or what the client gets instead.
pub(super) async fn judge(
    question: &Question,
    backend: Option<&Backend>,
    memory: &Memory,
    check: &Check,
) -> Result<Changes, Verdict> {
    let answer = answer(question, backend, memory, check).await;
    match answer {
        Ok(answer) => read(question, &answer),
        Err(error) => {
            debug!("location {}: the service that decides: {error:#}", check.location);
            Err(refuse(500))
        }
    }
}

/// Where clients are sent instead of a 401.
pub(super) fn sign_in(question: &Question, refused: Verdict, check: &Check) -> Verdict {
    let (Some(place), Verdict::Refuse { status: 401, headers }) = (&question.sign_in, &refused) else {
        return refused;
    };
    let cookies = headers.iter().filter(|(name, _)| name == "set-cookie").cloned();
    let location = ("location".to_owned(), text(place, check));
    Verdict::Refuse { status: 302, headers: std::iter::once(location).chain(cookies).collect() }
}

async fn answer(
    question: &Question,
    backend: Option<&Backend>,
    memory: &Memory,
    check: &Check,
) -> anyhow::Result<Arc<Answer>> {
    let idempotent = question.method.as_deref().is_none_or(|method| matches!(method, "GET" | "HEAD"));
    let Some(terms) = question.memory.as_ref().filter(|_| idempotent) else {
        return ask::ask(question, backend, check).await.map(Arc::new);
    };
    let key = (check.location.clone(), text(&terms.key, check));
    if let Some(answer) = memory.recall(&key) {
        return Ok(answer);
    }
    let answer = Arc::new(ask::ask(question, backend, check).await?);
    memory.keep(key, terms, &answer);
    Ok(answer)
}

fn read(question: &Question, answer: &Answer) -> Result<Changes, Verdict> {
    let cookies = || answer.values("set-cookie").map(str::to_owned);
    let headers = |name: &str, values: &mut dyn Iterator<Item = String>| -> Vec<(String, String)> {
        values.map(|value| (name.to_owned(), value)).collect()
    };
    match answer.status {
        200..=299 => {
            let name = |place| {
                if question.always_cookies {
                    "set-cookie".to_owned()
                } else {
                    format!("{COOKIE_HEADER}{place}")
                }
            };
            let cookies = cookies().take(MOST_COOKIES).enumerate();
            let cookies = cookies.map(|(place, cookie)| (name(place), cookie)).collect();
            let mut changes = Changes { answer: cookies, ..Changes::default() };
            for name in &question.to_pods {
                let values: Vec<&str> = answer.values(name).collect();
                match values.join(", ") {
                    nothing if nothing.is_empty() => changes.remove.push(name.clone()),
                    value => changes.set.push((name.clone(), value)),
                }
            }
            Ok(changes)
        }
        status @ (401 | 403) => {
            let asks = answer.values("www-authenticate").map(str::to_owned).filter(|_| status == 401);
            let mut all = headers("www-authenticate", &mut asks.into_iter());
            // Whoever is sent to sign in gets them in any case.
            if question.always_cookies || (status == 401 && question.sign_in.is_some()) {
                all.extend(headers("set-cookie", &mut cookies()));
            }
            Err(Verdict::Refuse { status, headers: all })
        }
        other => {
            debug!("expected 2xx, 401 or 403 of the service that decides, got {other}");
            Err(refuse(500))
        }
    }
}
