//! Lines of the log about reports. One Service that comes and goes may change as many reports as there are paths that lead to it, so an
//! object has a few lines a change, the worst first, and a namespace has so many at once and then so many a second.
//! All reports are in `sluice dbg reports`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_fair::Bucket;
use sluice_translate::{ObjectRef, Report, Severity};

/// Lines about an object, for each change: more than anybody writes by mistake. Of a namespace there is a limit besides.
const OF_OBJECT: usize = 100;
/// Lines of a namespace at once, after a quiet time.
const OF_NAMESPACE: u32 = 200;
/// Between two lines of a namespace, once those are used up.
const PACE: Duration = Duration::from_secs(1);

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'r> {
    Report(&'r Report),
    /// So many more of a namespace have no line.
    More {
        namespace: Arc<str>,
        count: usize,
        worst: Severity,
    },
}

/// Lines that each namespace may still write. One that has been quiet is not remembered.
#[derive(Debug, Default)]
pub(crate) struct ReportLines(BTreeMap<Arc<str>, Share>);

#[derive(Debug)]
struct Share {
    room: Bucket,
    /// Reports without a line that nobody has been told of.
    unlogged: Option<(usize, Severity)>,
}

impl ReportLines {
    /// Lines about reports that have appeared. Nobody's lines depend on those of other namespaces.
    pub(crate) fn lines<'r>(&mut self, appeared: &[&'r Report], now: Instant) -> Vec<Line<'r>> {
        self.0.retain(|_, share| {
            share.room.fill(now);
            !share.is_forgettable()
        });
        let mut by_namespace: BTreeMap<Arc<str>, Vec<&Report>> = BTreeMap::new();
        for report in appeared {
            let namespace = Arc::clone(&report.object.key.namespace);
            by_namespace.entry(namespace).or_default().push(report);
        }
        let mut lines = Vec::new();
        for (namespace, mut reports) in by_namespace {
            let share = self.0.entry(Arc::clone(&namespace));
            let share = share.or_insert_with(|| Share::full(now));
            reports.sort_by_key(|report| Reverse(report.severity));
            share.add_lines(&namespace, &reports, &mut lines);
        }
        lines
    }
}

impl Share {
    fn full(now: Instant) -> Self {
        let mut room = Bucket::full(OF_NAMESPACE, PACE);
        room.fill(now);
        Share {
            room,
            unlogged: None,
        }
    }

    fn is_forgettable(&self) -> bool {
        self.room.is_full() && self.unlogged.is_none()
    }

    /// The last line that there is room for says that there are more.
    fn add_lines<'r>(
        &mut self,
        namespace: &Arc<str>,
        reports: &[&'r Report],
        lines: &mut Vec<Line<'r>>,
    ) {
        let mut of_object: BTreeMap<&ObjectRef, usize> = BTreeMap::new();
        for report in reports {
            let count = of_object.entry(&report.object).or_default();
            if self.room.left() > 1 && *count < OF_OBJECT {
                *count += 1;
                self.room.take();
                lines.push(Line::Report(report));
            } else {
                let (count, worst) = self.unlogged.unwrap_or((0, Severity::Note));
                self.unlogged = Some((count + 1, worst.max(report.severity)));
            }
        }
        if self.room.left() == 0 {
            return;
        }
        if let Some((count, worst)) = self.unlogged.take() {
            self.room.take();
            lines.push(Line::More {
                namespace: Arc::clone(namespace),
                count,
                worst,
            });
        }
    }
}

impl Line<'_> {
    pub(crate) fn severity(&self) -> Severity {
        match self {
            Line::Report(report) => report.severity,
            Line::More { worst, .. } => *worst,
        }
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Report(report) => report.fmt(f),
            Line::More {
                namespace, count, ..
            } => {
                let of = match &**namespace {
                    "" => "objects without a namespace".to_owned(),
                    namespace => format!("namespace {namespace}"),
                };
                write!(f, "{of}: and {count} more (`sluice dbg reports` has all)")
            }
        }
    }
}

/// Some report.
#[cfg(test)]
pub(crate) fn report(namespace: &str, name: &str, number: u32) -> Report {
    let object = ObjectRef {
        kind: sluice_translate::Kind::Ingress,
        key: sluice_translate::ObjectKey::new(namespace, name),
    };
    let severity = [Severity::Note, Severity::Warning, Severity::Error][number as usize % 3];
    let field = format!("spec.rules[{number:06}]");
    let code = sluice_ir::ReasonCode::InvalidValue;
    Report::new(object, code, severity, field, "expected one", "ignored")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSES: [u32; 4] = [0, 1, 30, 1000];
    const CHANGES: u32 = 6;
    const CROWD: u32 = 1200;

    fn of<'l>(lines: &'l [Line<'_>], namespace: &str) -> Vec<&'l Line<'l>> {
        let is_its = |line: &&Line<'_>| match line {
            Line::Report(report) => &*report.object.key.namespace == namespace,
            Line::More { namespace: of, .. } => &**of == namespace,
        };
        lines.iter().filter(is_its).collect()
    }

    /// Many reports of one tenant come and go, in many sequences of pauses, beside a few of another.
    #[test]
    fn lines_are_few_none_is_uncounted_and_others_have_theirs() {
        let crowd: Vec<Report> = (0..CROWD)
            .map(|number| report("crowd", &format!("{}", number / 20), number))
            .collect();
        let shop: Vec<Report> = (0..2).map(|number| report("shop", "a", number)).collect();
        let all: Vec<&Report> = crowd.iter().chain(&shop).collect();
        let start = Instant::now();
        for sequence in (0..PAUSES.len().pow(CHANGES)).step_by(41) {
            let mut lines = ReportLines::default();
            let (mut rest, mut seconds, mut written, mut counted) = (sequence, 0, 0, 0);
            for _ in 0..CHANGES {
                seconds += PAUSES[rest % PAUSES.len()];
                rest /= PAUSES.len();
                let told = lines.lines(&all, start + PACE * seconds);
                let expected: Vec<_> = [&shop[1], &shop[0]].map(Line::Report).into();
                assert_eq!(of(&told, "shop"), expected.iter().collect::<Vec<_>>());
                for line in of(&told, "crowd") {
                    written += 1;
                    counted += match line {
                        Line::Report(_) => 1,
                        Line::More { count, .. } => *count,
                    };
                }
            }
            assert!(written <= OF_NAMESPACE + seconds, "{sequence}");
            let share = lines.0.get("crowd").and_then(|share| share.unlogged);
            let untold = share.map_or(0, |(count, _)| count);
            assert_eq!(counted + untold, (CROWD * CHANGES) as usize, "{sequence}");
        }
    }

    #[test]
    fn an_object_has_its_worst_reports_logged_and_the_rest_counted() {
        let reports: Vec<Report> = (0..1000).map(|number| report("a", "a", number)).collect();
        let all: Vec<&Report> = reports.iter().collect();
        let lines = ReportLines::default().lines(&all, Instant::now());
        assert_eq!(lines.len(), OF_OBJECT + 1);
        assert!(lines.iter().all(|line| line.severity() == Severity::Error));
        let last = lines.last().map(ToString::to_string).unwrap_or_default();
        assert_eq!(
            last,
            "namespace a: and 900 more (`sluice dbg reports` has all)"
        );
    }

    #[test]
    fn what_is_full_again_is_forgotten() {
        let (report, start) = (report("a", "a", 0), Instant::now());
        let mut lines = ReportLines::default();
        lines.lines(&[&report], start);
        assert_eq!(lines.0.len(), 1);
        lines.lines(&[], start + PACE);
        assert_eq!(lines.0.len(), 0);
    }
}
