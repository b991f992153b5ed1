//! Answers of authentication services, for as long as their owner lets them be kept.
//!
//! A key is a digest of everything that an answer can depend on and that the owner has not said to be of no importance: the
//! route, the host, the method, what is asked and where, and then the owner's own key, part by part. Requests that say
//! nothing of who they are from share no answer.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use sluice_fair::{FairCache, Key};
use sluice_ir::{AuthCache as Terms, ExpressionPart, ExternalAuth, Variable};
use sluice_xds_server::AuthzRequest;
use tokio::time::Instant;

use super::client::AuthResponse;
use super::expression::{bytes, text};

/// Bytes for answers.
const BUDGET: usize = 16 << 20;
/// Beside what is said: two texts, and what the allocator takes for them.
const OF_A_HEADER: usize = 96;
/// Headers that say how something is sent, and not who sends it.
const NOT_OF_A_CLIENT: &[&str] = &[
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "dnt",
    "host",
    "origin",
    "pragma",
    "range",
    "referer",
    "te",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-real-ip",
    "x-request-id",
    "x-requested-with",
];

pub(super) struct AuthCache {
    secret: [u8; 32],
    answers: Mutex<FairCache<Kept>>,
}

#[derive(Clone)]
struct Kept {
    answer: Arc<AuthResponse>,
    until: Instant,
}

impl AuthCache {
    /// `secret` is random, and this process's alone.
    pub(super) fn new(secret: [u8; 32]) -> Self {
        AuthCache {
            secret,
            answers: Mutex::new(FairCache::new(BUDGET)),
        }
    }

    /// By what the answer to this request is kept; `None`: it is not.
    pub(super) fn key(
        &self,
        external: &ExternalAuth,
        terms: &Terms,
        digest: &Key,
        check: &AuthzRequest,
    ) -> Option<Key> {
        let parts: Vec<(bool, Vec<u8>)> = terms
            .key
            .0
            .iter()
            .map(|part| (is_of_a_client(part), bytes(part, check)))
            .collect();
        let is_said = |part: &&(bool, Vec<u8>)| !part.1.is_empty();
        let mut of_client = parts.iter().filter(|(of_client, _)| *of_client).peekable();
        let anonymous = of_client.peek().is_some() && of_client.find(is_said).is_none();
        if anonymous || parts.iter().find(is_said).is_none() {
            return None;
        }
        let url = text(&external.url, check);
        let of_request = [
            check.route.as_str(),
            check.method.as_str(),
            check.host.as_str(),
            url.as_str(),
        ];
        let of_request = of_request.into_iter().map(str::as_bytes);
        let all = [&self.secret[..], digest].into_iter().chain(of_request);
        let all = all.chain(parts.iter().map(|(_, part)| part.as_slice()));
        let hash = all.fold(Sha256::new(), |hash, part| {
            hash.chain_update((part.len() as u64).to_be_bytes())
                .chain_update(part)
        });
        Some(hash.finalize().into())
    }

    pub(super) fn recall(&self, tenant: &str, key: &Key) -> Option<Arc<AuthResponse>> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = answers.get(tenant, key)?;
        (kept.until > Instant::now()).then(|| Arc::clone(&kept.answer))
    }

    /// As nginx: not what sets a cookie or says that it is private. Only what is looked at is kept.
    pub(super) fn keep(
        &self,
        tenant: &str,
        key: Key,
        external: &ExternalAuth,
        terms: &Terms,
        answer: &AuthResponse,
    ) {
        let Some(time) = time(terms, answer) else {
            return;
        };
        let is_read = |name: &String| {
            name == "www-authenticate"
                || external
                    .upstream_headers
                    .iter()
                    .any(|read| read.source.as_str() == name)
        };
        let headers: Vec<_> = answer
            .headers
            .iter()
            .filter(|(name, _)| is_read(name))
            .cloned()
            .collect();
        let size = headers
            .iter()
            .map(|(name, value)| name.len() + value.len() + OF_A_HEADER)
            .sum::<usize>();
        let answer = Arc::new(AuthResponse {
            status: answer.status,
            headers,
        });
        let kept = Kept {
            answer,
            until: Instant::now() + time,
        };
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(
            tenant,
            key,
            kept,
            size + size_of::<AuthResponse>() + OF_A_HEADER,
        );
    }
}

/// True if the part may differ between clients.
fn is_of_a_client(part: &ExpressionPart) -> bool {
    match part {
        ExpressionPart::Variable(Variable::Cookie(_) | Variable::Argument(_)) => true,
        ExpressionPart::Variable(Variable::Header(name)) => {
            !NOT_OF_A_CLIENT.contains(&name.as_str())
        }
        ExpressionPart::Variable(_) | ExpressionPart::Text(_) => false,
    }
}

fn time(terms: &Terms, answer: &AuthResponse) -> Option<Duration> {
    if answer.values("set-cookie").next().is_some() {
        return None;
    }
    let words = answer
        .values("cache-control")
        .flat_map(|value| value.split(','));
    let words: Vec<String> = words.map(|word| word.trim().to_ascii_lowercase()).collect();
    if words
        .iter()
        .any(|word| matches!(word.as_str(), "no-cache" | "no-store" | "private"))
    {
        return None;
    }
    let said = words
        .iter()
        .find_map(|word| word.strip_prefix("max-age=")?.parse::<u32>().ok());
    let usual = terms
        .ttl_by_status
        .get(&answer.status)
        .copied()
        .unwrap_or(terms.default_ttl);
    let seconds = said.unwrap_or(usual);
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

impl fmt::Debug for AuthCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthCache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
