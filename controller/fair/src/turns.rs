//! Fair queueing: work of many tenants for a few workers.
//!
//! Start-time fair queueing (Goyal, Vin, Cheng, 1996): each job has a virtual start, the later of now and the end of its
//! tenant's last one, and the smallest goes first. A tenant that asks for little does not wait for what others have piled up, only
//! for what runs; and of one tenant's jobs the shortest goes first. A tenant that was idle has no credit.
//!
//! Absent on purpose: clocks and threads. Time is the work that was begun.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How much at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Jobs that run.
    pub workers: usize,
    /// Of one tenant.
    pub workers_of_one: usize,
    /// Jobs that wait.
    pub waiting: usize,
    /// Of one tenant.
    pub waiting_of_one: usize,
}

/// There is no room to wait in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Jobs that wait, and how many run.
#[derive(Debug)]
pub struct Turns<J> {
    limits: Limits,
    tenants: BTreeMap<String, Tenant<J>>,
    /// The virtual start of the last job that was begun.
    now: u64,
    jobs: u64,
}

#[derive(Debug)]
struct Tenant<J> {
    /// When its next job may start, in virtual time.
    next: u64,
    running: usize,
    /// By what they cost, then in their order.
    waiting: BTreeMap<(u64, u64), J>,
}

impl<J> Turns<J> {
    /// No job waits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Turns {
            limits,
            tenants: BTreeMap::new(),
            now: 0,
            jobs: 0,
        }
    }

    /// Adds a job that costs so much. Where there is no room the tenant with most jobs loses its last one, which comes back, if
    /// it has more than this one.
    pub fn add(&mut self, tenant: &str, cost: u64, job: J) -> Result<Option<J>, Full> {
        let mine = self
            .tenants
            .get(tenant)
            .map_or(0, |tenant| tenant.waiting.len());
        if mine >= self.limits.waiting_of_one {
            return Err(Full);
        }
        let is_full = self.waiting() >= self.limits.waiting;
        let lost = if is_full {
            Some(self.drop_one(mine + 1).ok_or(Full)?)
        } else {
            None
        };
        self.jobs += 1;
        let (now, order) = (self.now, self.jobs);
        let fresh = || Tenant {
            next: now,
            running: 0,
            waiting: BTreeMap::new(),
        };
        let tenant = self.tenants.entry(tenant.to_owned()).or_insert_with(fresh);
        tenant.waiting.insert((cost.max(1), order), job);
        Ok(lost)
    }

    /// Begins the job whose turn it is; says whose it is, too. [`Turns::done`] ends it. `None`: no job waits, or all that
    /// does has to.
    pub fn begin(&mut self) -> Option<(String, J)> {
        let running: usize = self.tenants.values().map(|tenant| tenant.running).sum();
        if running >= self.limits.workers {
            return None;
        }
        let now = self.now;
        let may_run = |tenant: &Tenant<J>| tenant.running < self.limits.workers_of_one;
        let waiting = self
            .tenants
            .iter_mut()
            .filter(|(_, tenant)| may_run(tenant) && !tenant.waiting.is_empty());
        let start = |tenant: &Tenant<J>| {
            (
                tenant.next.max(now),
                tenant.waiting.keys().next().map_or(0, |(cost, _)| *cost),
            )
        };
        let (name, tenant) = waiting.min_by_key(|(_, tenant)| start(tenant))?;
        let ((cost, _), job) = tenant.waiting.pop_first()?;
        let begun = tenant.next.max(now);
        tenant.next = begun.saturating_add(cost);
        tenant.running += 1;
        let name = name.clone();
        self.now = begun;
        Some((name, job))
    }

    /// A job of this tenant has ended.
    pub fn done(&mut self, tenant: &str) {
        if let Some(tenant) = self.tenants.get_mut(tenant) {
            tenant.running = tenant.running.saturating_sub(1);
        }
        self.tidy();
    }

    /// Forgets jobs whose waiters are gone.
    pub fn forget(&mut self, is_gone: impl Fn(&J) -> bool) {
        for tenant in self.tenants.values_mut() {
            tenant.waiting.retain(|_, job| !is_gone(job));
        }
        self.tidy();
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.tenants
            .values()
            .map(|tenant| tenant.waiting.len())
            .sum()
    }

    /// A tenant that is idle and owes nothing is as good as a new one; and when all are idle, debts are forgotten.
    fn tidy(&mut self) {
        let is_idle = |tenant: &Tenant<J>| tenant.running == 0 && tenant.waiting.is_empty();
        if self.tenants.values().all(is_idle) {
            self.tenants.clear();
            self.now = 0;
        }
        let now = self.now;
        self.tenants
            .retain(|_, tenant| !is_idle(tenant) || tenant.next > now);
    }

    /// The longest job of the namespace with most waiting, if that is more than `least`.
    fn drop_one(&mut self, least: usize) -> Option<J> {
        let most = self
            .tenants
            .iter_mut()
            .max_by_key(|(name, tenant)| (tenant.waiting.len(), Reverse(name.len())));
        let (_, tenant) = most.filter(|(_, tenant)| tenant.waiting.len() > least)?;
        tenant.waiting.pop_last().map(|(_, job)| job)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits {
        workers: 2,
        workers_of_one: 1,
        waiting: 16,
        waiting_of_one: 8,
    };

    /// Tenants in the order in which they run.
    fn order(turns: &mut Turns<u32>) -> Vec<(String, u32)> {
        let mut order = Vec::new();
        while let Some((tenant, job)) = turns.begin() {
            turns.done(&tenant);
            order.push((tenant, job));
        }
        order
    }

    fn names(order: &[(String, u32)]) -> Vec<&str> {
        order.iter().map(|(tenant, _)| tenant.as_str()).collect()
    }

    #[test]
    fn who_comes_late_waits_for_what_runs_and_for_nothing_else() {
        let mut turns = Turns::new(LIMITS);
        for job in 0..8 {
            turns.add("crowd", 1000, job).unwrap();
        }
        assert_eq!(turns.begin(), Some(("crowd".to_owned(), 0)));
        assert_eq!(
            turns.begin(),
            None,
            "the other worker is not for the same tenant"
        );
        turns.add("shop", 1000, 100).unwrap();
        assert_eq!(turns.begin(), Some(("shop".to_owned(), 100)));
        turns.done("shop");
        turns.add("shop", 10, 101).unwrap();
        turns.done("crowd");
        assert_eq!(
            turns.begin(),
            Some(("shop".to_owned(), 101)),
            "both have had as much, and this is shorter"
        );
        assert_eq!(turns.begin(), Some(("crowd".to_owned(), 1)));
    }

    #[test]
    fn shares_are_of_work_and_not_of_jobs() {
        let mut turns = Turns::new(Limits {
            workers: 1,
            ..LIMITS
        });
        for job in 0..4 {
            turns.add("long", 300, job).unwrap();
        }
        for job in 0..8 {
            turns.add("short", 100, job).unwrap();
        }
        let order = order(&mut turns);
        let expected = [
            "short", "long", "short", "short", "short", "long", "short", "short", "short", "long",
            "short", "long",
        ];
        assert_eq!(names(&order), expected);
    }

    #[test]
    fn of_one_tenant_short_work_comes_first() {
        let mut turns = Turns::new(Limits {
            workers: 1,
            ..LIMITS
        });
        for (job, cost) in [(0, 500), (1, 5), (2, 50), (3, 5)] {
            turns.add("shop", cost, job).unwrap();
        }
        let jobs: Vec<u32> = order(&mut turns).into_iter().map(|(_, job)| job).collect();
        assert_eq!(jobs, [1, 3, 2, 0]);
    }

    #[test]
    fn where_there_is_no_room_who_has_most_loses() {
        let mut turns = Turns::new(Limits {
            waiting: 8,
            ..LIMITS
        });
        for job in 0..8_u32 {
            assert_eq!(turns.add("crowd", 10 + u64::from(job), job), Ok(None));
        }
        assert_eq!(turns.add("crowd", 1, 8), Err(Full), "it has its own share");
        assert_eq!(turns.add("shop", 1, 100), Ok(Some(7)));
        for job in 101..104 {
            assert!(matches!(turns.add("shop", 1, job), Ok(Some(_))));
        }
        assert_eq!(turns.add("shop", 1, 104), Err(Full), "both have the same");
        assert_eq!(turns.waiting(), 8);
    }

    #[test]
    fn what_nobody_waits_for_takes_no_room() {
        let mut turns = Turns::new(LIMITS);
        for job in 0..8 {
            turns.add("shop", 1, job).unwrap();
        }
        turns.forget(|job| *job < 6);
        assert_eq!(turns.waiting(), 2);
        assert_eq!(order(&mut turns).len(), 2);
        assert!(turns.tenants.is_empty());
    }

    proptest! {
        /// Whatever the others pile up, a tenant that is idle runs next, or right after.
        #[test]
        fn nobody_is_kept_waiting_by_a_crowd(crowd in prop::collection::vec((0usize..5, 1u64..1_000_000), 1..200)) {
            let limits = Limits { workers: 1, workers_of_one: 1, waiting: 1000, waiting_of_one: 1000 };
            let mut turns = Turns::new(limits);
            for (number, (tenant, cost)) in crowd.iter().enumerate() {
                turns.add(&format!("crowd-{tenant}"), *cost, u32::try_from(number).unwrap()).unwrap();
            }
            for _ in 0..crowd.len() / 2 {
                let (tenant, _) = turns.begin().unwrap();
                turns.done(&tenant);
            }
            let running = turns.begin().map(|(tenant, _)| tenant);
            turns.add("shop", 1_000_000, 9999).unwrap();
            running.iter().for_each(|tenant| turns.done(tenant));
            // Those that wait since before may have the same start.
            let before = order(&mut turns).iter().position(|(tenant, _)| tenant == "shop").unwrap();
            prop_assert!(before <= 5, "{before} ran before");
        }

        #[test]
        fn nothing_is_lost_and_nothing_runs_twice(
            jobs in prop::collection::vec((0usize..4, 1u64..100, any::<bool>()), 0..200),
        ) {
            let mut turns = Turns::new(LIMITS);
            let (mut running, mut seen, mut refused) = (Vec::new(), Vec::new(), Vec::new());
            for (number, (tenant, cost, ends)) in jobs.iter().enumerate() {
                match turns.add(&tenant.to_string(), *cost, number) {
                    Ok(lost) => refused.extend(lost),
                    Err(Full) => refused.push(number),
                }
                if *ends && !running.is_empty() {
                    let tenant: String = running.remove(0);
                    turns.done(&tenant);
                }
                while let Some((tenant, job)) = turns.begin() {
                    running.push(tenant);
                    seen.push(job);
                }
                prop_assert!(running.len() <= LIMITS.workers && turns.waiting() <= LIMITS.waiting);
            }
            running.iter().for_each(|tenant| turns.done(tenant));
            while let Some((tenant, job)) = turns.begin() {
                turns.done(&tenant);
                seen.push(job);
            }
            seen.extend(refused);
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..jobs.len()).collect::<Vec<_>>());
        }
    }
}
