//! The requests of a check in its world.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::check::{self, Observed};
use super::request::Surroundings;
use super::schema::Check;
use super::traffic::{self, Exchange};
use super::when::When;
use super::world::{Kept, World};

/// How long requests are waited for that no client waits for.
const MIRRORED: Duration = Duration::from_millis(500);

impl World {
    /// Sends the requests of a check, and compares.
    pub async fn requests(&mut self, check: &Check) -> Result<Vec<String>, String> {
        self.pods.begin_check();
        if let Some(name) = check
            .when
            .use_cookie
            .as_ref()
            .filter(|name| !self.cookies.contains_key(*name))
        {
            return Ok(vec![format!("no cookie {name} was set that could be sent")]);
        }
        let (place, start) = (self.pods.journal.len(), Instant::now());
        let exchanges = self.exchanges(&check.when).await?;
        let elapsed = start.elapsed();
        let mut reasons = self.compare(check, &exchanges, place, elapsed).await?;
        // A mirrored request arrives when the answer has long been sent.
        while !reasons.is_empty()
            && check.then.upstream_hits.is_some()
            && start.elapsed() < elapsed + MIRRORED
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
            reasons = self.compare(check, &exchanges, place, elapsed).await?;
        }
        self.remember(check, &exchanges);
        Ok(reasons)
    }

    /// Sends requests.
    pub async fn exchanges(&mut self, when: &When) -> Result<Vec<Exchange>, String> {
        let cookies: BTreeMap<String, String> = self
            .cookies
            .iter()
            .map(|(name, kept)| (name.clone(), kept.value.clone()))
            .collect();
        let mut surroundings = Surroundings {
            http: self.sluice.http(),
            https: self.sluice.https(),
            authorities: &mut self.secrets.authorities,
            cookies: &cookies,
        };
        let prepared = (1..=when.count())
            .map(|n| surroundings.prepare(when, n))
            .collect::<anyhow::Result<_>>();
        let prepared = prepared.map_err(|error| format!("{error:#}"))?;
        traffic::send_all(when, prepared)
            .await
            .map_err(|error| format!("{error:#}"))
    }

    /// The reasons against what came of requests.
    pub async fn compare(
        &self,
        check: &Check,
        exchanges: &[Exchange],
        place: usize,
        elapsed: Duration,
    ) -> Result<Vec<String>, String> {
        let auth_services = self.model.auth_services();
        let received = self.pods.journal.since(place);
        let (auth, received) = received
            .into_iter()
            .partition(|received| auth_services.contains(&received.service));
        let kept = check
            .when
            .use_cookie
            .as_ref()
            .and_then(|name| self.cookies.get(name));
        let before = match kept {
            Some(kept) => kept.pod.clone(),
            None if exchanges.len() == 1 => self.last_pod.clone(),
            None => None,
        };
        let endpoints = match &check.then.endpoints_are {
            Some(_) => self
                .endpoints()
                .await
                .map_err(|error| format!("{error:#}"))?,
            None => Default::default(),
        };
        let (pods, ports) = (&self.pods, &self.ports);
        let observed = Observed {
            exchanges,
            received,
            auth,
            elapsed,
            before,
            endpoints,
            pods,
            ports,
        };
        observed.against(&check.then)
    }

    fn remember(&mut self, check: &Check, exchanges: &[Exchange]) {
        let answers = exchanges
            .iter()
            .filter_map(|exchange| exchange.answer.as_ref().ok());
        for answer in answers {
            self.last_pod = answer.pod().map(str::to_owned);
            if let Some(name) = &check.when.save_cookie
                && let Some(value) = check::find_cookie(answer, name)
            {
                self.cookies.insert(
                    name.clone(),
                    Kept {
                        value,
                        pod: self.last_pod.clone(),
                    },
                );
            }
        }
    }
}
