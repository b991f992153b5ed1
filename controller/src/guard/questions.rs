//! What the answers of services mean.

use std::sync::Arc;

use sluice_ir::{Backend, HeaderName, Question};
use sluice_xds::{AuthzRequest, COOKIE_HEADER, Changes, MOST_COOKIES, Verdict};
use tracing::debug;

use super::ask::{self, Answer};
use super::cache::AuthCache;
use super::expression::text;
use super::pool::Pool;
use super::refuse;
use super::table::Watched;

/// What a service says about a request, in terms of it: what changes, or what the client gets instead.
pub(super) async fn judge(
    pool: &Pool,
    question: &Question,
    watched: &Watched,
    backend: Option<&Backend>,
    cache: &AuthCache,
    check: &AuthzRequest,
) -> Result<Changes, Verdict> {
    let answer = answer(pool, question, watched, backend, cache, check).await;
    match answer {
        Ok(answer) => read(question, &answer),
        Err(error) => {
            debug!("location {}: external authentication failed: {error:#}", check.location);
            Err(refuse(500))
        }
    }
}

/// Where clients are sent instead of a 401.
pub(super) fn sign_in(question: &Question, refused: Verdict, check: &AuthzRequest) -> Verdict {
    let (Some(place), Verdict::Deny { status: 401, headers }) = (&question.sign_in, &refused) else {
        return refused;
    };
    let cookies = headers.iter().filter(|(name, _)| name == "set-cookie").cloned();
    let location = ("location".to_owned(), text(place, check));
    Verdict::Deny { status: 302, headers: std::iter::once(location).chain(cookies).collect() }
}

async fn answer(
    pool: &Pool,
    question: &Question,
    watched: &Watched,
    backend: Option<&Backend>,
    cache: &AuthCache,
    check: &AuthzRequest,
) -> anyhow::Result<Arc<Answer>> {
    let tenant = watched.guard.tenant.as_str();
    let terms = question.memory.as_ref().filter(|_| question.is_idempotent());
    let key = terms.and_then(|terms| Some((terms, cache.key(question, terms, &watched.question, check)?)));
    let Some((terms, key)) = key else {
        return ask::ask(pool, tenant, question, backend, check).await.map(Arc::new);
    };
    if let Some(answer) = cache.recall(tenant, &key) {
        return Ok(answer);
    }
    let answer = ask::ask(pool, tenant, question, backend, check).await?;
    cache.keep(tenant, key, question, terms, &answer);
    Ok(Arc::new(answer))
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
            for name in question.to_pods.iter().map(HeaderName::as_str) {
                let values: Vec<&str> = answer.values(name).collect();
                let value = values.join(", ");
                if !value.is_empty() {
                    changes.set.push((name.to_owned(), value));
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
            Err(Verdict::Deny { status, headers: all })
        }
        other => {
            debug!("external authentication failed: expected 2xx, 401 or 403, got {other}");
            Err(refuse(500))
        }
    }
}
