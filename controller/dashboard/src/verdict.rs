//! How much of an Ingress is served, in one word.

use sluice_translate::Severity;

use crate::index::Ingress;

/// How much of an Ingress is served, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// All, as it is written.
    Served,
    /// Nothing is asked for, or of somebody else.
    NoRoutes,
    /// All, with a difference.
    WithDifferences,
    /// Not all.
    Partly,
    /// Nothing: all requests get 503 or 404.
    NotServed,
}

impl Verdict {
    pub(crate) fn of(ingress: &Ingress) -> Self {
        let open = ingress.all_routes - ingress.closed_routes;
        match ingress.worst {
            _ if open == 0 && ingress.closed_routes > 0 => Verdict::NotServed,
            Some(Severity::Error) if open == 0 => Verdict::NotServed,
            // Somebody else has its paths. A canary waits for its main Ingress.
            Some(Severity::Warning) if open == 0 && !ingress.is_canary => Verdict::NotServed,
            _ if open == 0 => Verdict::NoRoutes,
            Some(Severity::Error) => Verdict::Partly,
            _ if ingress.closed_routes > 0 => Verdict::Partly,
            Some(Severity::Warning) => Verdict::WithDifferences,
            Some(Severity::Note) | None => Verdict::Served,
        }
    }

    /// Class of the style sheet.
    pub(crate) fn style(self) -> &'static str {
        match self {
            Verdict::Served => "good",
            Verdict::NoRoutes => "soft",
            Verdict::WithDifferences => "warning",
            Verdict::Partly | Verdict::NotServed => "error",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Verdict::Served => "served",
            Verdict::NoRoutes => "no routes",
            Verdict::WithDifferences => "served with differences",
            Verdict::Partly => "partly not served",
            Verdict::NotServed => "not served",
        }
    }
}

/// The verdict about an Ingress, in words.
pub(crate) fn text(ingress: &Ingress) -> String {
    let verdict = Verdict::of(ingress);
    match (ingress.is_canary, verdict) {
        (false, verdict) => verdict.words().to_owned(),
        (true, Verdict::NoRoutes) => "canary of no route".to_owned(),
        (true, verdict) => format!("canary, {}", verdict.words()),
    }
}

/// A part of the list of Ingresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    All,
    Verdict(Verdict),
    /// With a report of this severity.
    Reported(Severity),
}

impl Filter {
    /// Each with its value in the URL, and its name.
    pub(crate) const ALL: [(Filter, &str, &str); 8] = [
        (Filter::All, "", "All"),
        (Filter::Verdict(Verdict::Served), "served", "Served"),
        (
            Filter::Verdict(Verdict::WithDifferences),
            "differences",
            "With differences",
        ),
        (
            Filter::Verdict(Verdict::Partly),
            "partly",
            "Partly not served",
        ),
        (
            Filter::Verdict(Verdict::NotServed),
            "not-served",
            "Not served",
        ),
        (Filter::Verdict(Verdict::NoRoutes), "no-routes", "No routes"),
        (Filter::Reported(Severity::Error), "errors", "Errors"),
        (Filter::Reported(Severity::Warning), "warnings", "Warnings"),
    ];

    /// The one that a URL names.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut all = Filter::ALL.iter();
        let found = all.find(|(_, value, _)| *value == text);
        found.map(|(filter, ..)| *filter).ok_or_else(|| {
            let values = Filter::ALL.iter().skip(1).map(|(_, value, _)| *value);
            let values: Vec<&str> = values.collect();
            format!("state: expected {}, got {text:?}", values.join(", "))
        })
    }

    pub(crate) fn takes(self, ingress: &Ingress) -> bool {
        match self {
            Filter::All => true,
            Filter::Verdict(verdict) => Verdict::of(ingress) == verdict,
            Filter::Reported(Severity::Error) => ingress.has_errors,
            Filter::Reported(Severity::Warning) => ingress.has_warnings,
            Filter::Reported(Severity::Note) => ingress.worst.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVERITIES: [Option<Severity>; 4] = [
        None,
        Some(Severity::Note),
        Some(Severity::Warning),
        Some(Severity::Error),
    ];

    /// Whatever routes and reports it has: one verdict, and one filter for it.
    #[test]
    fn every_ingress_is_behind_one_verdict() {
        for worst in SEVERITIES {
            for (all_routes, closed_routes) in [(0, 0), (1, 0), (1, 1), (2, 1)] {
                let ingress = Ingress {
                    worst,
                    all_routes,
                    closed_routes,
                    ..Ingress::default()
                };
                let behind = Filter::ALL.iter().filter(|(filter, ..)| {
                    matches!(filter, Filter::Verdict(_)) && filter.takes(&ingress)
                });
                assert_eq!(behind.count(), 1, "{worst:?} {all_routes} {closed_routes}");
                let verdict = Verdict::of(&ingress);
                let is_warned = worst == Some(Severity::Warning) && all_routes == 0;
                let is_lost = closed_routes > 0 || worst == Some(Severity::Error) || is_warned;
                let is_red = verdict.style() == "error";
                assert_eq!(is_red, is_lost, "{worst:?} {all_routes} {closed_routes}");
                let serves_something = all_routes > closed_routes;
                assert_eq!(
                    verdict == Verdict::NotServed,
                    is_lost && !serves_something,
                    "{worst:?} {all_routes} {closed_routes}"
                );
            }
        }
    }

    #[test]
    fn a_url_names_a_filter_or_is_told_which_there_are() {
        for (filter, value, _) in Filter::ALL {
            assert_eq!(Filter::parse(value), Ok(filter));
        }
        let error = Filter::parse("bad").unwrap_err();
        assert!(error.starts_with("state: expected served, ") && error.ends_with("\"bad\""));
    }
}
