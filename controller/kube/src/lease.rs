//! Leader election on a Lease, as Kubernetes' own controllers do it (client-go, tools/leaderelection): the holder
//! renews it; a candidate that has seen it unchanged for its whole duration may take it.
//!
//! No clock of another machine is trusted: only the time since *we* saw the Lease change counts. And nothing is written
//! without the version that was read, so of two that reach for it one gets a conflict. (kube-lease-manager 0.13 does
//! neither: it compares `renewTime` with its own clock, and takes over with an unconditional patch, after which two can
//! believe that they lead.)

use std::time::Duration;

use crate::outage::is_unreachable;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::SignedDuration;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::identity::Identity;

/// How long a Lease holds, and how the rest follows from it (as `--election-ttl` of ingress-nginx).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    duration: Duration,
}

impl Times {
    pub(crate) fn new(duration: Duration) -> Self {
        // Leases count in whole seconds.
        Times {
            duration: duration.max(Duration::from_secs(1)),
        }
    }

    /// A leader that could not renew for this long loses leadership.
    fn renew_deadline(self) -> Duration {
        self.duration / 2
    }

    fn retry(self) -> Duration {
        self.duration / 4
    }

    fn seconds(self) -> i32 {
        self.duration.as_secs().try_into().unwrap_or(i32::MAX)
    }
}

/// Takes part in the election.
pub(crate) struct Candidate {
    api: Api<Lease>,
    name: String,
    identity: String,
    times: Times,
    seen: Option<Seen>,
    leads: watch::Sender<bool>,
}

/// A state of the Lease, and when we first saw it.
#[derive(Debug)]
struct Seen {
    spec: LeaseSpec,
    at: Instant,
}

/// Next write.
#[derive(Debug, PartialEq)]
enum Move {
    Nothing,
    Write(LeaseSpec),
}

impl Candidate {
    /// A candidate that does not lead yet, and where to see whether it does.
    pub(crate) fn new(
        client: Client,
        name: &str,
        identity: &Identity,
        times: Times,
    ) -> (Self, watch::Receiver<bool>) {
        let (leads, seen) = watch::channel(false);
        let api = Api::namespaced(client, &identity.namespace);
        let (name, identity) = (name.to_owned(), identity.pod.clone());
        (
            Candidate {
                api,
                name,
                identity,
                times,
                seen: None,
                leads,
            },
            seen,
        )
    }

    /// Takes part until it is stopped, then releases the Lease if it holds it.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut renewed = None;
        let mut trouble = false;
        while !stop.is_cancelled() {
            let started = Instant::now();
            // A leader that hears nothing must not go on leading until it does.
            let limit = renewed.unwrap_or(started) + self.times.renew_deadline();
            match timeout_at(limit, self.attempt()).await {
                Ok(Ok(true)) => renewed = Some(started),
                Ok(Ok(false)) => renewed = None,
                Ok(Err(error)) if !trouble => {
                    // The watches say that the API server is away.
                    if !is_unreachable(&error) {
                        warn!("lease {}: {error}", self.name);
                    }
                    trouble = true;
                }
                Ok(Err(_)) | Err(_) => {}
            }
            renewed = renewed.filter(|at| at.elapsed() < self.times.renew_deadline());
            trouble &= renewed.is_none();
            self.lead(renewed.is_some());
            let next = started + self.times.retry();
            timeout_at(next, stop.cancelled()).await.ok();
        }
        if *self.leads.borrow() {
            self.let_go().await;
        }
    }

    fn lead(&self, leads: bool) {
        let changed = self
            .leads
            .send_if_modified(|was| std::mem::replace(was, leads) != leads);
        if changed {
            let (pod, name) = (&self.identity, &self.name);
            if leads {
                info!("{pod} acquired leadership of Lease {name}");
            } else {
                warn!("{pod} lost leadership of Lease {name}");
            }
        }
    }

    /// Renews or takes the Lease. True if we hold it afterwards.
    async fn attempt(&mut self) -> kube::Result<bool> {
        let now = Timestamp::now();
        let Some(mut lease) = self.api.get_opt(&self.name).await? else {
            let spec = self.own(now, &LeaseSpec::default());
            let metadata = ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            };
            return self
                .write(Lease {
                    metadata,
                    spec: Some(spec),
                })
                .await;
        };
        let spec = lease.spec.take().unwrap_or_default();
        match self.decide(&spec, Instant::now(), now) {
            Move::Nothing => Ok(false),
            Move::Write(spec) => {
                self.write(Lease {
                    metadata: lease.metadata,
                    spec: Some(spec),
                })
                .await
            }
        }
    }

    fn decide(&mut self, spec: &LeaseSpec, instant: Instant, now: Timestamp) -> Move {
        if self.seen.as_ref().is_none_or(|seen| seen.spec != *spec) {
            self.seen = Some(Seen {
                spec: spec.clone(),
                at: instant,
            });
        }
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.unwrap_or_default();
        let duration = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        let since = self.seen.as_ref().map_or(instant, |seen| seen.at);
        if !holder.is_empty() && holder != self.identity && instant < since + duration {
            return Move::Nothing;
        }
        Move::Write(self.own(now, spec))
    }

    /// The Lease as it is when it is ours.
    fn own(&self, now: Timestamp, before: &LeaseSpec) -> LeaseSpec {
        let stays = before.holder_identity.as_deref() == Some(self.identity.as_str());
        let acquired = before.acquire_time.clone().filter(|_| stays);
        let transitions = before.lease_transitions.unwrap_or_default();
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(self.times.seconds()),
            acquire_time: Some(acquired.unwrap_or(MicroTime(now))),
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(if stays {
                transitions
            } else {
                transitions.saturating_add(1)
            }),
            ..LeaseSpec::default()
        }
    }

    /// `false` when another candidate was quicker.
    async fn write(&mut self, lease: Lease) -> kube::Result<bool> {
        let written = match lease.metadata.resource_version {
            None => self.api.create(&PostParams::default(), &lease).await,
            Some(_) => {
                self.api
                    .replace(&self.name, &PostParams::default(), &lease)
                    .await
            }
        };
        match written {
            Ok(lease) => {
                self.seen = lease.spec.map(|spec| Seen {
                    spec,
                    at: Instant::now(),
                });
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives the Lease back, so that the next leader need not wait for its end.
    async fn let_go(&mut self) {
        let limit = self.times.retry();
        let release = async {
            let Some(mut lease) = self.api.get_opt(&self.name).await? else {
                return Ok(false);
            };
            let spec = lease.spec.get_or_insert_default();
            if spec.holder_identity.as_deref() != Some(self.identity.as_str()) {
                return Ok(false);
            }
            (spec.holder_identity, spec.lease_duration_seconds) = (Some(String::new()), Some(1));
            self.write(lease).await
        };
        let released = tokio::time::timeout(limit, release).await;
        if !matches!(released, Ok(Ok(true))) {
            warn!(
                "lease {}: not given back; the next leader waits until it ends",
                self.name
            );
        }
        self.leads.send_replace(false);
    }
}

/// Parses a duration of the Lease, such as `30s` or `1m30s`. Zero and less become the default, as in ingress-nginx.
///
/// # Errors
/// The text is not a duration.
pub fn lease_duration(text: &str) -> Result<Duration, String> {
    const DEFAULT: Duration = Duration::from_secs(30);
    let parsed: SignedDuration = text
        .parse()
        .map_err(|error| format!("expected a duration like 30s: {error}"))?;
    Ok(Duration::try_from(parsed)
        .ok()
        .filter(|duration| !duration.is_zero())
        .unwrap_or(DEFAULT))
}
