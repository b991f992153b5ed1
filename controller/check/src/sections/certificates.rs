//! Certificates near their end: those that pods of Sluice mount, and those of hosts.

use std::collections::BTreeMap;

use crate::Settings;
use crate::certificate::Left;
use crate::checklist::{Checklist, Section};
use crate::facts::{Facts, Installation, Served};
use crate::output::plural;

const SECTION: Section = Section::Certificates;
/// Longest list of hosts in a line.
const MOST: usize = 10;

pub(crate) fn certificates(facts: &Facts, settings: &Settings, list: &mut Checklist) {
    let Ok(installation) = &facts.installation else {
        return;
    };
    mounted(installation, settings, list);
    if let Ok(served) = &installation.served {
        of_hosts(served, settings, list);
    }
}

fn mounted(installation: &Installation, settings: &Settings, list: &mut Checklist) {
    let advice = "without it pods cannot start or talk to each other; delete the Secret and its Job, and apply the chart again, or look at \
                  cert-manager's Certificate (docs/install.md)";
    for (name, secret) in &installation.secrets {
        let secret = match secret {
            Ok(Some(secret)) => secret,
            Ok(None) => {
                list.failure(
                    SECTION,
                    format!("Secret {name} is missing, and pods wait for it"),
                    "the log of the certgen Job says why it has not made it; with cert-manager, kubectl describe certificate",
                );
                continue;
            }
            Err(error) => {
                list.unread(SECTION, &format!("Secret {name}"), error);
                continue;
            }
        };
        let mut found = 0;
        for (key, value) in secret.data.iter().flatten() {
            let pem = String::from_utf8_lossy(&value.0);
            let left = Left::of_chain(&pem, settings.now, settings.certificate_days);
            found += usize::from(left == Some(Left::Enough));
            let message = |left: Left| format!("{key} of Secret {name} {}", left.words());
            match left {
                None | Some(Left::Enough) => {}
                Some(left @ Left::Days(_)) => list.warning(SECTION, message(left), advice),
                Some(left @ Left::Ended(_)) => list.failure(SECTION, message(left), advice),
            }
        }
        if found > 0 {
            list.ok(
                SECTION,
                format!("{} in Secret {name} valid", plural(found, "certificate")),
            );
        }
    }
}

/// A line for each Secret that ends, the first one first.
fn of_hosts(served: &Served, settings: &Settings, list: &mut Checklist) {
    let mut ending: BTreeMap<(i64, &str), (Left, Vec<&str>)> = BTreeMap::new();
    for certificate in &served.certificates {
        let left = Left::of_chain(&certificate.chain, settings.now, settings.certificate_days);
        let (order, left) = match left {
            None | Some(Left::Enough) => continue,
            Some(left @ Left::Days(days)) => (days, left),
            Some(left @ Left::Ended(days)) => (-days - 1, left),
        };
        let place = ending.entry((order, &certificate.secret));
        place
            .or_insert((left, Vec::new()))
            .1
            .push(&certificate.host);
    }
    let advice = "renew the certificate in this Secret; with cert-manager, kubectl describe certificate says why it has not";
    for ((_, secret), (left, hosts)) in &ending {
        let message = format!(
            "certificate of {} (Secret {secret}) {}",
            listed(hosts),
            left.words()
        );
        match left {
            Left::Ended(_) => list.failure(SECTION, message, advice),
            _ => list.warning(SECTION, message, advice),
        }
    }
    let count = served.certificates.len();
    if ending.is_empty() && count > 0 {
        list.ok(
            SECTION,
            format!(
                "certificates of {} valid for {} days and more",
                plural(count, "host"),
                settings.certificate_days
            ),
        );
    }
}

fn listed(hosts: &[&str]) -> String {
    let shown = hosts
        .iter()
        .take(MOST)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match hosts.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
