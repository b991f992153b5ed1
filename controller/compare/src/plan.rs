//! The requests to send: those of the methods and hosts that are wanted, each once, and not too many for one Ingress.

use std::collections::{BTreeMap, BTreeSet};

use hyper::body::Bytes;
use sha2::{Digest, Sha256};
use sluice_explain::{Outcome, Request, explain};

use crate::probe::{Probe, has_body, is_safe};
use crate::probes::{PathProbes, probes};
use crate::recorded::Recorded;
use crate::site::{Context, Site, upstream_name};
use crate::subject::Subject;

/// Subjects of requests to hosts without Ingresses: names of hosts are a client's choice.
pub(crate) const MOST_HOSTS: usize = 1000;
/// Different requests of a record that are looked up.
const MOST_RECORDED: usize = 200_000;

/// A choice among requests.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Methods to send, as `GET`.
    pub methods: Vec<String>,
    /// Hosts to ask for, in lower case; empty: all.
    pub hosts: Vec<String>,
    /// Requests for one Ingress.
    pub most: usize,
}

/// Requests that are not sent, and why.
pub type LeftOut = BTreeMap<&'static str, usize>;

/// Everything of a request that is sent: its line, its headers, its body.
type Key = (String, Vec<(String, String)>, Bytes);

/// Requests, and what is left out.
#[derive(Debug, Default)]
pub struct Plan {
    /// In the order in which they are sent.
    pub probes: Vec<Probe>,
    /// Subjects to judge, with what is left out of each.
    pub subjects: BTreeMap<Subject, LeftOut>,
    /// Requests that are nobody's, by reason.
    pub others: LeftOut,
    /// Hosts of the selection that a request is for.
    hosts: BTreeSet<String>,
    seen: BTreeSet<Key>,
    counts: BTreeMap<Subject, usize>,
    /// Hashes of recorded requests that were looked up, with their upstreams: a log has as many as it likes, of any length.
    recorded: BTreeSet<[u8; 32]>,
}

/// Reasons for which a request is not sent.
pub mod reasons {
    /// Its method.
    pub const METHOD: &str = "a method that --methods does not name";
    /// Its body.
    pub const BODY: &str = "a log has no bodies of requests; a HAR file has";
    /// Its number.
    pub const MOST: &str = "more than --max-requests";
    /// Its number, and no other request is for its path.
    pub const PATHS: &str = "paths that were not asked: more than --max-requests";
    /// Its host.
    pub const HOST: &str = "a host that no Ingress names";
    /// Its line.
    pub const UNREADABLE: &str =
        "not readable as a request; --log-format names the format of a log";
    /// Its line says no host.
    pub const NAMELESS: &str =
        "the line names no host and no upstream, so it is not known whose request it was";
    /// Its pattern.
    pub const PATTERN: &str = "no request found that the path takes and no other one does";
    /// The number of hosts.
    pub const HOSTS: &str = "of more hosts than can be judged";
    /// Its time.
    pub const RATE: &str = "more than --rate and --concurrency let through";
    /// It has none of its own.
    pub const CANARY: &str = "a canary, whose requests count to its main Ingress";
    /// There is nothing to ask for.
    pub const NOTHING_SERVED: &str = "none of its paths is served";
    /// Its sender.
    pub const OWN: &str =
        "sent from here and mirrored once more, as --old leads through the proxy that mirrors";
    /// Its upstream.
    pub const UPSTREAM: &str =
        "a log without hosts: no Ingress sends the path to the upstream of the line";
    /// The host, of several that its upstream may be of.
    pub const OTHER_HOSTS: &str =
        "to further hosts of the line's upstream: of a log without hosts, only the first is asked";
}

impl Plan {
    /// Requests for all that Ingresses serve.
    pub fn add_ingresses(&mut self, site: &Site<'_>, selection: &Selection) {
        let mut paths = Vec::new();
        for PathProbes {
            ingress,
            probes,
            is_reached,
        } in probes(site)
        {
            let hosts = probes.iter().map(|probe| probe.request.host.as_str());
            if !hosts.clone().any(|host| selection.takes_host(host)) && hosts.count() > 0 {
                continue;
            }
            let subject = Subject::Ingress(ingress);
            let left_out = self.subjects.entry(subject).or_default();
            if !is_reached {
                *left_out.entry(reasons::PATTERN).or_default() += 1;
            }
            let mut rest = probes.into_iter();
            if let Some(probe) = rest.next() {
                self.add_first(probe, selection);
            }
            paths.push(rest);
        }
        // So that a limit leaves no path without a request for the sake of another one.
        while !paths.is_empty() {
            paths.retain_mut(|rest| match rest.next() {
                Some(probe) => {
                    self.add(probe, selection);
                    true
                }
                None => false,
            });
        }
    }

    /// The request that says most about a path.
    fn add_first(&mut self, probe: Probe, selection: &Selection) {
        let subject = probe.context.subject.clone();
        if self.counts.get(&subject).copied().unwrap_or_default() >= selection.most {
            let left_out = self.subjects.entry(subject).or_default();
            *left_out.entry(reasons::PATHS).or_default() += 1;
        } else {
            self.add(probe, selection);
        }
    }

    /// Subjects that requests are looked for, whether there is one or not.
    pub fn expect_ingresses(&mut self, site: &Site<'_>) {
        let owners = site
            .config
            .routes()
            .filter_map(|route| (site.owner)(&route.id));
        self.expect(owners.map(Subject::Ingress));
    }

    /// Subjects that are judged, also without a request.
    pub fn expect(&mut self, subjects: impl Iterator<Item = Subject>) {
        for subject in subjects {
            self.subjects.entry(subject).or_default();
        }
    }

    /// A subject that has no requests, and why.
    pub fn expect_without_requests(&mut self, subject: Subject, reason: &'static str) {
        self.subjects.entry(subject).or_default().insert(reason, 0);
    }

    /// A recorded request, or why there is none; without Ingresses its host is its subject.
    pub fn add_recorded(
        &mut self,
        site: Option<&Site<'_>>,
        recorded: Result<Recorded, &'static str>,
        selection: &Selection,
    ) {
        if let Ok(recorded) = &recorded
            && recorded.request.headers.is_empty()
        {
            let text = format!("{:?} {}", recorded.upstream, recorded.request);
            let key: [u8; 32] = Sha256::digest(text).into();
            if self.recorded.contains(&key) {
                return;
            }
            if self.recorded.len() < MOST_RECORDED {
                self.recorded.insert(key);
            }
        }
        let probe = recorded.and_then(|recorded| probe(site, recorded));
        match probe {
            Ok((probe, has_one_host)) => {
                if !has_one_host {
                    *self.others.entry(reasons::OTHER_HOSTS).or_default() += 1;
                }
                self.add(probe, selection);
            }
            Err(reason) => *self.others.entry(reason).or_default() += 1,
        }
    }

    /// Hosts that were selected, and that no request is for.
    pub fn hosts_without_requests<'s>(
        &self,
        selection: &'s Selection,
    ) -> impl Iterator<Item = &'s str> {
        let hosts = selection.hosts.iter().map(String::as_str);
        hosts.filter(|host| !self.hosts.contains(*host))
    }

    fn add(&mut self, probe: Probe, selection: &Selection) {
        if !selection.takes_host(&probe.request.host) {
            return;
        }
        if !selection.hosts.is_empty() {
            self.hosts.insert(probe.request.host.clone());
        }
        let subject = probe.context.subject.clone();
        let hosts = self.subjects.len();
        if matches!(subject, Subject::Host(_))
            && hosts >= MOST_HOSTS
            && !self.subjects.contains_key(&subject)
        {
            *self.others.entry(reasons::HOSTS).or_default() += 1;
            return;
        }
        let Request { headers, .. } = &probe.request;
        let key = (
            probe.request.to_string(),
            headers.clone(),
            probe.body.clone(),
        );
        if self.seen.contains(&key) {
            return;
        }
        let left_out = self.subjects.entry(subject.clone()).or_default();
        let count = self.counts.entry(subject).or_default();
        if !selection.methods.contains(&probe.request.method) {
            *left_out.entry(reasons::METHOD).or_default() += 1;
        } else if *count >= selection.most {
            *left_out.entry(reasons::MOST).or_default() += 1;
        } else {
            *count += 1;
            self.seen.insert(key);
            self.probes.push(probe);
        }
    }
}

impl Selection {
    /// A method that may change something.
    #[must_use]
    pub fn unsafe_method(&self) -> Option<&str> {
        let mut methods = self.methods.iter().map(String::as_str);
        methods.find(|method| !is_safe(method))
    }

    /// True if requests for this host are wanted.
    #[must_use]
    pub fn takes_host(&self, host: &str) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|wanted| wanted == host)
    }
}

/// Finds whose a recorded request is. `false`: it may have been for another host as well.
fn probe(site: Option<&Site<'_>>, recorded: Recorded) -> Result<(Probe, bool), &'static str> {
    let Recorded {
        request,
        has_scheme,
        upstream,
        body,
    } = recorded;
    if body.is_none() && has_body(&request.method) {
        return Err(reasons::BODY);
    }
    let mut has_one_host = true;
    let request = match (upstream, site) {
        (Some(upstream), Some(site)) => {
            let mut requests = of_upstream(site, &request, &upstream);
            let first = requests.next().ok_or(reasons::UPSTREAM)?;
            has_one_host = requests.next().is_none();
            first
        }
        (Some(_), None) => return Err(reasons::UPSTREAM),
        (None, Some(site)) if !has_scheme => site.as_answered(request),
        (None, _) => request,
    };
    let context = match site {
        Some(site) => site.context(&request),
        None => Context::unknown(&request.host),
    };
    if site.is_some() && !context.is_known_host {
        return Err(reasons::HOST);
    }
    let body = body.unwrap_or_default();
    let probe = Probe {
        request,
        body,
        context,
        is_ours: false,
    };
    Ok((probe, has_one_host))
}

/// The request with each host from which its path leads to this upstream.
fn of_upstream(
    site: &Site<'_>,
    request: &Request,
    upstream: &str,
) -> impl Iterator<Item = Request> {
    let names = site.config.servers.iter().map(|(name, _)| name);
    names
        .filter(|name| name.is_exact())
        .filter_map(move |name| {
            let request = Request {
                host: name.to_string(),
                ..request.clone()
            };
            let request = site.as_answered(request);
            let Outcome::Forward {
                backends, canaries, ..
            } = explain(site.config, &request).outcome
            else {
                return None;
            };
            let mut all = backends
                .iter()
                .chain(canaries.iter().map(|share| &share.backend));
            all.any(|backend| upstream_name(&backend.id) == upstream)
                .then_some(request)
        })
}

#[cfg(test)]
mod tests;
