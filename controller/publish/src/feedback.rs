//! Responses of data planes to publications.

use std::future::pending;
use std::time::Duration;

use sluice_quarantine::Rejections;
use sluice_xds::ResourceType;
use sluice_xds_server::{Decided, Generation, Nack, Revision, Store};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

/// Pause before another try, when no data plane answered.
const AGAIN: Duration = Duration::from_secs(1);

/// Result of loading a configuration in nginx.
#[derive(Clone, Debug)]
pub struct LoadResult {
    /// Hash of the configuration.
    pub content: u128,
    /// nginx's error message; `None`: it serves the configuration.
    pub refused: Option<String>,
}

/// The answer of data planes to the last publication.
#[derive(Debug)]
pub struct Decision {
    /// Of the routes; nothing: they are served.
    pub routes: Rejections,
    /// Of the listener with the filter chains of hosts with TLS.
    pub tls: Option<String>,
    /// Everything else.
    pub others: Vec<Nack>,
}

/// Sources of responses.
#[derive(Debug)]
pub struct Feedback {
    from: From,
    not_before: Instant,
}

#[derive(Debug)]
enum From {
    Envoys {
        store: Store,
        publication: Option<Generation>,
        seen: Option<Revision>,
    },
    Nginx {
        load_results: UnboundedReceiver<LoadResult>,
        publication: Option<u128>,
        last: Option<LoadResult>,
    },
}

impl Feedback {
    /// Responses of Envoys.
    #[must_use]
    pub fn of_envoys(store: Store) -> Self {
        Feedback {
            from: From::Envoys {
                store,
                publication: None,
                seen: None,
            },
            not_before: Instant::now(),
        }
    }

    /// Results of loading configurations in nginx.
    #[must_use]
    pub fn of_nginx(load_results: UnboundedReceiver<LoadResult>) -> Self {
        Feedback {
            from: From::Nginx {
                load_results,
                publication: None,
                last: None,
            },
            not_before: Instant::now(),
        }
    }

    /// Expects answers to this generation, which was published to Envoys.
    pub fn await_generation(&mut self, generation: Generation) {
        if let From::Envoys {
            publication, seen, ..
        } = &mut self.from
        {
            (*publication, *seen) = (Some(generation), None);
        }
    }

    /// Expects an answer to the configuration with this hash, which was published to nginx.
    pub fn await_content(&mut self, content: u128) {
        if let From::Nginx { publication, .. } = &mut self.from {
            *publication = Some(content);
        }
    }

    /// The answer could not be used: it is repeated a little later.
    pub fn ask_again(&mut self) {
        self.not_before = Instant::now() + AGAIN;
        match &mut self.from {
            From::Envoys { seen, .. } => *seen = None,
            From::Nginx {
                publication, last, ..
            } => {
                *publication = last.as_ref().map(|loaded| loaded.content);
            }
        }
    }

    /// Waits for the answer to the last publication, or another answer than before.
    pub async fn next(&mut self) -> Decision {
        sleep_until(self.not_before).await;
        match &mut self.from {
            From::Envoys {
                store,
                publication: Some(generation),
                seen,
            } => {
                let Decided { revision, refusals } = store.decided(*generation, *seen).await;
                *seen = Some(revision);
                decision(refusals)
            }
            From::Envoys {
                publication: None, ..
            } => pending().await,
            From::Nginx {
                load_results,
                publication,
                last,
            } => loop {
                if let Some(loaded) = last
                    .as_ref()
                    .filter(|loaded| *publication == Some(loaded.content))
                {
                    *publication = None;
                    let all = loaded.refused.clone();
                    break Decision {
                        routes: Rejections {
                            all,
                            ..Rejections::default()
                        },
                        tls: None,
                        others: Vec::new(),
                    };
                }
                match load_results.recv().await {
                    Some(loaded) => *last = Some(loaded),
                    // The supervisor is gone, and we go soon.
                    None => pending().await,
                }
            },
        }
    }
}

fn decision(refusals: Vec<Nack>) -> Decision {
    let (mut routes, mut tls, mut others) = (Rejections::default(), None, Vec::new());
    for refusal in refusals {
        match refusal.kind {
            ResourceType::Route => routes.all = Some(refusal.message),
            ResourceType::Scope if &*refusal.name == sluice_xds::OTHER_HOSTS => {
                routes.inexact = Some(refusal.message);
            }
            ResourceType::Listener if &*refusal.name == sluice_xds::HTTPS => {
                tls = Some(refusal.message);
            }
            ResourceType::Scope => drop(
                routes
                    .hosts
                    .insert(refusal.name.to_string(), refusal.message),
            ),
            _ => others.push(refusal),
        }
    }
    Decision {
        routes,
        tls,
        others,
    }
}
