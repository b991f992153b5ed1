//! Verdicts about Ingresses, from the judgements of their requests.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::{Serialize, Serializer};

use crate::judge::{Difference, Judgement};
use crate::known::Known;
use crate::plan::{LeftOut, reasons};
use crate::shares::Kind;
use crate::site::Context;
use crate::subject::Subject;
use crate::text::printable;

/// Requests that are named for one difference; the rest is counted.
const EXAMPLES: usize = 3;
/// Different differences that are listed for one Ingress; the rest is counted.
const MOST_DIFFERENCES: usize = 50;

/// From which differences on a comparison fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Any difference.
    #[default]
    Any,
    /// A difference that the documentation does not name.
    Undocumented,
    /// None: only if nothing could be compared.
    Never,
}

/// Verdict about an Ingress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A response differs.
    Differs,
    /// No request could be judged.
    NotJudged,
    /// Backends share its requests by weight: shares of responses are alike, and all else that was judged is the same.
    SameShares,
    /// All that was judged is the same.
    Same,
}

impl Verdict {
    /// The words of reports.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Differs => "differs",
            Verdict::NotJudged => "not judged",
            Verdict::SameShares => "same shares",
            Verdict::Same => "same",
        }
    }
}

/// A difference of some requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The part of the response.
    pub what: String,
    /// Said by the old data plane.
    pub old: String,
    /// Said by the new one.
    pub new: String,
    /// It is documented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
    /// Number of requests.
    pub requests: usize,
    /// Some of them.
    pub examples: Vec<String>,
}

/// Responses of backends that share requests by weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharesFound {
    /// The backends, as ingress-nginx names them.
    pub backends: Vec<String>,
    /// The request that was sent often.
    pub request: String,
    /// Times that it was sent to each data plane.
    pub requests: u32,
    /// Numbers of responses of each kind.
    pub kinds: Vec<Kind>,
}

/// Something that is not judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unjudged {
    /// The reason.
    pub reason: String,
    /// Number of requests.
    pub requests: usize,
    /// Some of them; none of those that were not sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// An Ingress, or a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its name.
    #[serde(rename = "name", serialize_with = "as_text")]
    pub subject: Subject,
    /// The verdict.
    pub verdict: Verdict,
    /// Requests that were judged.
    pub judged: usize,
    /// Differences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Found>,
    /// Differences beyond those that are listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_differences: usize,
    /// Shares of backends with weights.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<SharesFound>,
    /// Parts that are not judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<Unjudged>,
    /// Reports of the translation about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<String>,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// URLs of the old data plane.
    pub old: String,
    /// URLs of the new one.
    pub new: String,
    /// By name.
    pub ingresses: Vec<Finding>,
    /// Requests that are nobody's, and were not sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Unjudged>,
    /// Reasons for which the comparison is worth nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

fn as_text<S: Serializer>(subject: &Subject, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(subject)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Numbers of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Ingresses without a difference.
    pub same: usize,
    /// Those among them that are the same by shares of responses.
    pub same_shares: usize,
    /// Ingresses with one.
    pub differs: usize,
    /// Those among them whose differences are all documented.
    pub documented: usize,
    /// Ingresses about which nothing is known.
    pub not_judged: usize,
    /// Requests that were judged.
    pub requests: usize,
}

impl Findings {
    /// Counts.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for finding in &self.ingresses {
            summary.requests += finding.judged;
            match finding.verdict {
                Verdict::Same => summary.same += 1,
                Verdict::SameShares => {
                    summary.same += 1;
                    summary.same_shares += 1;
                }
                Verdict::NotJudged => summary.not_judged += 1,
                Verdict::Differs => {
                    summary.differs += 1;
                    summary.documented += usize::from(finding.is_documented());
                }
            }
        }
        summary
    }

    /// True if the exit code says that there are differences.
    #[must_use]
    pub fn fail(&self, on: FailOn) -> bool {
        let Summary {
            differs,
            documented,
            ..
        } = self.summary();
        match on {
            FailOn::Any => differs > 0,
            FailOn::Undocumented => differs > documented,
            FailOn::Never => false,
        }
    }
}

impl Finding {
    fn is_documented(&self) -> bool {
        self.more_differences == 0 && self.differences.iter().all(|found| found.known.is_some())
    }
}

/// Judgements as they come; its size does not depend on their number.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<Subject, Counted>);

#[derive(Clone, Debug, Default)]
struct Counted {
    judged: usize,
    differing: usize,
    differences: BTreeMap<Difference, Examples>,
    more: usize,
    shares: Vec<SharesFound>,
    unjudged: BTreeMap<String, Examples>,
}

#[derive(Clone, Debug, Default)]
struct Examples {
    count: usize,
    texts: Vec<String>,
}

impl Examples {
    fn add(&mut self, request: &str) {
        self.count += 1;
        if self.texts.len() < EXAMPLES {
            self.texts.push(request.to_owned());
        }
    }
}

impl Tally {
    /// A subject that is judged, also without a request.
    pub fn expect(&mut self, subject: &Subject) {
        self.0.entry(subject.clone()).or_default();
    }

    /// Number of subjects.
    #[must_use]
    pub fn subjects(&self) -> usize {
        self.0.len()
    }

    /// True if a subject is known.
    #[must_use]
    pub fn has(&self, subject: &Subject) -> bool {
        self.0.contains_key(subject)
    }

    /// Adds the judgement of a request; returns the differences that are new.
    pub fn add(&mut self, context: &Context, request: &str, judgement: Judgement) -> Vec<String> {
        let mut news = Vec::new();
        let counted = self.0.entry(context.subject.clone()).or_default();
        counted.judged += usize::from(!judgement.is_void);
        counted.differing += usize::from(!judgement.differences.is_empty());
        for difference in judgement.differences {
            let is_full = counted.differences.len() >= MOST_DIFFERENCES;
            match counted.differences.get_mut(&difference) {
                Some(examples) => examples.add(request),
                None if is_full => counted.more += 1,
                None => {
                    news.push(difference.to_string());
                    let examples = counted.differences.entry(difference).or_default();
                    examples.add(request);
                }
            }
        }
        let requests = judgement.shares.first().map(|kind| kind.old.of);
        if let Some(requests) = requests.filter(|_| counted.shares.len() < MOST_DIFFERENCES) {
            counted.shares.push(SharesFound {
                backends: context.shared_by.iter().map(|it| printable(it)).collect(),
                request: request.to_owned(),
                requests,
                kinds: judgement.shares,
            });
        }
        for reason in judgement.unjudged {
            let is_full = counted.unjudged.len() >= MOST_DIFFERENCES;
            if !is_full || counted.unjudged.contains_key(&reason) {
                counted.unjudged.entry(reason).or_default().add(request);
            }
        }
        news
    }

    /// Verdicts; `left_out` has requests that were not sent, `reports` what the translation says.
    #[must_use]
    pub fn findings(
        &self,
        left_out: &BTreeMap<Subject, LeftOut>,
        reports: &dyn Fn(&Subject) -> Vec<String>,
    ) -> Vec<Finding> {
        let none = LeftOut::new();
        let all = self.0.iter().map(|(subject, counted)| {
            let left_out = left_out.get(subject).unwrap_or(&none);
            counted.finding(subject, left_out, reports)
        });
        all.collect()
    }
}

impl Counted {
    fn finding(
        &self,
        subject: &Subject,
        left_out: &LeftOut,
        reports: &dyn Fn(&Subject) -> Vec<String>,
    ) -> Finding {
        let verdict = match (self.differing, self.judged) {
            (0, 0) => Verdict::NotJudged,
            (0, _) if left_out.contains_key(reasons::PATHS) => Verdict::NotJudged,
            (0, _) if !self.shares.is_empty() => Verdict::SameShares,
            (0, _) => Verdict::Same,
            (_, _) => Verdict::Differs,
        };
        let differences = self.differences.iter().map(|(difference, examples)| Found {
            what: difference.aspect.to_string(),
            old: difference.old.clone(),
            new: difference.new.clone(),
            known: difference.known,
            requests: examples.count,
            examples: examples.texts.clone(),
        });
        let mut unjudged: Vec<Unjudged> = self
            .unjudged
            .iter()
            .map(|(reason, examples)| Unjudged {
                reason: reason.clone(),
                requests: examples.count,
                examples: examples.texts.clone(),
            })
            .collect();
        unjudged.extend(not_sent(left_out));
        if verdict == Verdict::NotJudged && unjudged.is_empty() {
            unjudged.push(Unjudged {
                reason: "no request for it".to_owned(),
                requests: 0,
                examples: Vec::new(),
            });
        }
        Finding {
            subject: subject.clone(),
            verdict,
            judged: self.judged,
            differences: differences.collect(),
            more_differences: self.more,
            shares: self.shares.clone(),
            unjudged,
            // They are the reasons of differences, and of silence.
            reports: match verdict {
                Verdict::Same | Verdict::SameShares => Vec::new(),
                Verdict::Differs | Verdict::NotJudged => reports(subject),
            },
        }
    }
}

/// Requests that were not sent.
#[must_use]
pub fn not_sent(left_out: &LeftOut) -> Vec<Unjudged> {
    let all = left_out.iter().map(|(reason, count)| Unjudged {
        reason: match count {
            0 => (*reason).to_owned(),
            _ => format!("not sent: {reason}"),
        },
        requests: *count,
        examples: Vec::new(),
    });
    all.collect()
}
