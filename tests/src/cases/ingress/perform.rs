//! Plays one case: its checks one after the other, in one world.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::action::Action;
use super::check::{self, Observed};
use super::request::Surroundings;
use super::schema::{Case, Check};
use super::traffic::{self, Exchange};
use super::world::{Kept, World};
use crate::cases::Outcome;

/// How long a check may go wrong after an action: listeners and certificates follow routes and endpoints, and nothing
/// tells when they have.
const AFTERMATH: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(100);

/// Plays a case, as it stands in the file.
pub async fn play(case: &Value, data_plane: &str) -> Outcome {
    let case = match Case::read(case) {
        Ok(case) => case,
        Err(error) => {
            return Outcome::NotApplicable(format!("a word that this runner does not know: {error}"));
        }
    };
    let mut world = match World::start(&case, data_plane).await {
        Ok(world) => world,
        Err(outcome) => return outcome,
    };
    let mut reasons = Vec::new();
    for (n, check) in case.checks.iter().enumerate() {
        match world.check(check).await {
            Ok(found) => reasons.extend(found.into_iter().map(|reason| format!("check {}: {reason}", n + 1))),
            Err(reason) => return Outcome::NotApplicable(format!("check {}: {reason}", n + 1)),
        }
    }
    if let Err(error) = world.end() {
        reasons.push(format!("{error:#}"));
    }
    Outcome::of(reasons)
}

impl World {
    /// The reasons against a check.
    ///
    /// # Errors
    /// What the check asks for that cannot be done.
    async fn check(&mut self, check: &Check) -> Result<Vec<String>, String> {
        let actions = check.when.after.iter().flat_map(|after| after.all());
        let actions: Vec<Action> = actions.map(|text| Action::parse(text)).collect::<Result<_, _>>()?;
        for action in &actions {
            action.change(&mut self.model, check)?;
        }
        if !actions.is_empty()
            && let Err(error) = self.follow().await
        {
            return Ok(vec![format!("{error:#}")]);
        }
        let within = check.when.within_s.map(Duration::try_from_secs_f64).transpose();
        let within = within.map_err(|error| format!("within_s: {error}"))?;
        let patience = within.unwrap_or(if actions.is_empty() { Duration::ZERO } else { AFTERMATH });
        let start = Instant::now();
        loop {
            let reasons = self.requests(check).await?;
            if reasons.is_empty() || start.elapsed() >= patience {
                return Ok(reasons);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn requests(&mut self, check: &Check) -> Result<Vec<String>, String> {
        self.pods.begin_check();
        let cookies: BTreeMap<String, String> =
            self.cookies.iter().map(|(name, kept)| (name.clone(), kept.value.clone())).collect();
        let mut surroundings = Surroundings {
            http: self.sluice.http(),
            https: self.sluice.https(),
            authorities: &mut self.secrets.authorities,
            cookies: &cookies,
        };
        let when = &check.when;
        let prepared =
            (1..=when.count()).map(|n| surroundings.prepare(when, n)).collect::<anyhow::Result<_>>();
        let prepared = prepared.map_err(|error| format!("{error:#}"))?;
        let (place, start) = (self.pods.journal.len(), Instant::now());
        let exchanges = traffic::send_all(when, prepared).await.map_err(|error| format!("{error:#}"))?;
        let elapsed = start.elapsed();
        let reasons = self.compare(check, &exchanges, place, elapsed)?;
        self.remember(check, &exchanges);
        Ok(reasons)
    }

    fn compare(
        &self,
        check: &Check,
        exchanges: &[Exchange],
        place: usize,
        elapsed: Duration,
    ) -> Result<Vec<String>, String> {
        let auth_services = self.model.auth_services();
        let received = self.pods.journal.since(place);
        let (auth, received) =
            received.into_iter().partition(|received| auth_services.contains(&received.service));
        let kept = check.when.use_cookie.as_ref().and_then(|name| self.cookies.get(name));
        let before = match kept {
            Some(kept) => kept.pod.clone(),
            None if exchanges.len() == 1 => self.last_pod.clone(),
            None => None,
        };
        let (pods, ports) = (&self.pods, &self.ports);
        Observed { exchanges, received, auth, elapsed, before, pods, ports }.against(&check.then)
    }

    fn remember(&mut self, check: &Check, exchanges: &[Exchange]) {
        let answers = exchanges.iter().filter_map(|exchange| exchange.answer.as_ref().ok());
        for answer in answers {
            self.last_pod = answer.pod().map(str::to_owned);
            if let Some(name) = &check.when.save_cookie
                && let Some(value) = check::find_cookie(answer, name)
            {
                self.cookies.insert(name.clone(), Kept { value, pod: self.last_pod.clone() });
            }
        }
    }

    fn end(self) -> anyhow::Result<()> {
        self.sluice.stop()
    }
}
