//! Log of reports: when one appears, in few lines (report_log/lines.rs), and events for the writer of Kubernetes Events.

mod lines;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::time::Instant;

use sluice_kube::Notification;
use sluice_translate::{Report, Severity};
use tokio::sync::mpsc::UnboundedSender;
use tracing::{error, info, warn};

use lines::{Line, ReportLines};

/// The reports that have been logged and still hold.
#[derive(Debug, Default)]
pub struct ReportLog {
    reports: BTreeSet<Report>,
    lines: ReportLines,
    listener: Option<UnboundedSender<Vec<Notification>>>,
}

impl ReportLog {
    /// Also notifies the writer of Events.
    pub fn with_listener(listener: Option<UnboundedSender<Vec<Notification>>>) -> Self {
        ReportLog {
            listener,
            ..ReportLog::default()
        }
    }

    /// Logs new reports, of objects and of the data plane. A report that went away and comes back is logged again.
    pub(crate) fn record(&mut self, of_objects: &[Report], of_data_plane: &[Report]) {
        let mut current: Vec<&Report> = of_objects.iter().chain(of_data_plane).collect();
        // Those of objects are in order, which a sort makes use of.
        current.sort();
        current.dedup();
        let Difference { gone, appeared } = difference(&self.reports, &current);
        for line in self.lines.lines(&appeared, Instant::now()) {
            log(&line);
        }
        for report in &gone {
            self.reports.remove(report);
        }
        self.reports
            .extend(appeared.iter().copied().map(Report::clone));
        let Some(listener) = &self.listener else {
            return;
        };
        let gone = gone.into_iter().map(Notification::ReportRemoved);
        let appeared = appeared.into_iter().cloned().map(Notification::ReportAdded);
        let notifications: Vec<Notification> = gone.chain(appeared).collect();
        if !notifications.is_empty() {
            // The receiver is only gone when the program ends.
            listener.send(notifications).ok();
        }
    }
}

struct Difference<'r> {
    gone: Vec<Report>,
    appeared: Vec<&'r Report>,
}

/// Copies what changed, and nothing else: of 60,000 reports few ever do. Both are in order.
fn difference<'r>(before: &BTreeSet<Report>, now: &[&'r Report]) -> Difference<'r> {
    let (mut gone, mut appeared) = (Vec::new(), Vec::new());
    let (mut before, mut now) = (before.iter().peekable(), now.iter().copied().peekable());
    loop {
        let order = match (before.peek(), now.peek()) {
            (None, None) => return Difference { gone, appeared },
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.cmp(new),
        };
        if order.is_lt() {
            gone.extend(before.next().cloned());
        } else if order.is_gt() {
            appeared.extend(now.next());
        } else {
            before.next();
            now.next();
        }
    }
}

fn log(line: &Line<'_>) {
    match line.severity() {
        Severity::Error => error!("{line}"),
        Severity::Warning => warn!("{line}"),
        Severity::Note => info!("{line}"),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::lines::report;
    use super::*;

    /// Any of eight reports.
    fn chosen(bits: u32) -> Vec<Report> {
        let all = (0..8_u32).filter(|number| bits & (1 << number) != 0);
        all.map(|number| report("shop", &format!("{}", number / 2), number))
            .collect()
    }

    /// From every set of reports to every other one, some of them of the data plane.
    #[test]
    fn what_is_told_is_what_changed() {
        for before in 0..256 {
            let (sender, mut told) = unbounded_channel();
            let mut log = ReportLog::with_listener(Some(sender));
            log.record(&chosen(before), &[]);
            told.try_recv().ok();
            for now in (0..256).step_by(5) {
                let (of_objects, of_data_plane) = (chosen(now & 0x3f), chosen(now & 0xf0));
                log.record(&of_objects, &of_data_plane);
                let gone = chosen(before & !now).into_iter();
                let gone = gone.map(Notification::ReportRemoved);
                let appeared = chosen(now & !before).into_iter();
                let appeared = appeared.map(Notification::ReportAdded);
                let expected: Vec<_> = gone.chain(appeared).collect();
                assert_eq!(told.try_recv().unwrap_or_default(), expected);
                log.record(&chosen(before), &[]);
                told.try_recv().ok();
            }
        }
    }
}
