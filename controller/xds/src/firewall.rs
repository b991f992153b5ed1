//! Rules of web application firewalls, as the process with the engine gets them.
//!
//! Routes name their rules by a hash of them: what changes has another name, and routes with equal rules share them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sluice_ir::{Config, HttpRoute, Waf};

use crate::digest::digest;

/// Largest body that rules look at, if they set no limit: as large as they may set it.
const MAX_BODY: u64 = 128 << 20;
/// The same of the recommended settings, and media types of the bodies of responses.
const RECOMMENDED_BODY: u64 = 13_107_200;
const RECOMMENDED_TYPES: &str = "text/plain text/html text/xml";

/// Rules of a route, in the order in which they are evaluated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RuleSet {
    /// Its own, as text.
    pub own: String,
    /// Those that others have, too.
    pub common: CommonRules,
    /// Largest body of requests that they look at, in bytes; `None`: they look at none.
    pub request_body: Option<u64>,
    /// Media types of bodies of responses that they look at; none: they look at none.
    pub response_types: Vec<String>,
}

/// Rules that routes share, and that are parsed once.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommonRules {
    /// Those of all routes, as text.
    pub all: String,
    /// The recommended settings.
    pub recommended: bool,
    /// The OWASP Core Rule Set.
    pub core_rules: CoreRules,
}

/// The OWASP Core Rule Set, and its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CoreRules {
    /// There are none.
    #[default]
    Absent,
    /// A route has them, and its own come before those of all.
    First,
    /// They follow all others.
    Last,
}

impl RuleSet {
    /// Rules of a firewall, and those of all routes.
    #[must_use]
    pub fn new(waf: &Waf, all: Option<&Waf>) -> Self {
        let has = |asked: fn(&Waf) -> bool| asked(waf) || all.is_some_and(asked);
        let recommended = has(|waf| waf.recommended);
        let common = CommonRules {
            all: all.map(text).unwrap_or_default(),
            recommended,
            core_rules: CoreRules::new(waf, all),
        };
        let setting = |name| waf.setting(all, name);
        let is_on = |name| setting(name).map_or(recommended, |value| value == "On");
        let usual = if recommended {
            RECOMMENDED_BODY
        } else {
            MAX_BODY
        };
        let limit = setting("SecRequestBodyLimit").and_then(|limit| limit.parse().ok());
        let reads_requests =
            is_on("SecRequestBodyAccess") || waf.controls(all, "requestBodyAccess", "On");
        let types = setting("SecResponseBodyMimeType").unwrap_or(RECOMMENDED_TYPES);
        let types = types.split_whitespace().map(str::to_ascii_lowercase);
        RuleSet {
            own: text(waf),
            common,
            request_body: reads_requests
                .then_some(limit.filter(|limit| *limit > 0).unwrap_or(usual)),
            response_types: types.filter(|_| is_on("SecResponseBodyAccess")).collect(),
        }
    }

    /// A name that other rules do not have.
    #[must_use]
    pub fn name(&self) -> String {
        digest(format!("{self:?}"))
    }
}

impl CoreRules {
    fn new(waf: &Waf, all: Option<&Waf>) -> Self {
        match all {
            Some(all) if all.core_rules => CoreRules::Last,
            Some(_) if waf.core_rules => CoreRules::First,
            None if waf.core_rules => CoreRules::Last,
            _ => CoreRules::Absent,
        }
    }
}

/// Rules of all routes, by their names.
#[must_use]
pub fn rule_sets(config: &Config) -> BTreeMap<String, RuleSet> {
    let sets = config.routes().filter_map(|route| of_route(route, config));
    sets.map(|set| (set.name(), set)).collect()
}

/// Rules of a route, if it has a firewall.
#[must_use]
pub fn of_route(route: &HttpRoute, config: &Config) -> Option<RuleSet> {
    let waf = route.policy.waf.as_ref()?;
    Some(RuleSet::new(waf, config.global.waf.as_ref()))
}

fn text(waf: &Waf) -> String {
    waf.rules.iter().map(|rule| format!("{rule}\n")).collect()
}

#[cfg(test)]
mod tests {
    use sluice_ir::waf::{Directive, SettingValue};

    use super::*;

    fn waf(settings: &[(&'static str, &str)]) -> Waf {
        let rule = |(name, value): &(&'static str, &str)| {
            Directive::Setting(name, SettingValue::new(value).unwrap())
        };
        Waf {
            rules: settings.iter().map(rule).collect(),
            ..Waf::default()
        }
    }

    #[test]
    fn bodies_are_sent_where_rules_look_at_them_and_no_further() {
        let of = |own: &Waf, all: Option<&Waf>| RuleSet::new(own, all).request_body;
        let on = [("SecRequestBodyAccess", "On")];
        let small = waf(&[
            ("SecRequestBodyAccess", "On"),
            ("SecRequestBodyLimit", "10"),
        ]);
        let recommended = Waf {
            recommended: true,
            ..Waf::default()
        };
        assert_eq!(of(&Waf::default(), None), None);
        assert_eq!(of(&waf(&on), None), Some(MAX_BODY));
        assert_eq!(of(&recommended, None), Some(RECOMMENDED_BODY));
        assert_eq!(of(&small, Some(&recommended)), Some(10));
        assert_eq!(
            of(&waf(&[("SecRequestBodyAccess", "Off")]), Some(&small)),
            None
        );
        assert_eq!(of(&Waf::default(), Some(&small)), Some(10));
    }

    #[test]
    fn responses_are_sent_by_their_types() {
        let of = |own: &Waf| RuleSet::new(own, None).response_types;
        assert!(of(&waf(&[("SecResponseBodyMimeType", "text/xml")])).is_empty());
        let set = waf(&[
            ("SecResponseBodyAccess", "On"),
            ("SecResponseBodyMimeType", "TEXT/xml a/b"),
        ]);
        assert_eq!(of(&set), ["text/xml", "a/b"]);
    }

    #[test]
    fn core_rules_of_a_route_come_before_rules_of_all() {
        let of = |own: bool, all: Option<bool>| {
            let [own, all] = [Some(own), all].map(|core_rules| {
                core_rules.map(|core_rules| Waf {
                    core_rules,
                    ..Waf::default()
                })
            });
            RuleSet::new(&own.unwrap(), all.as_ref()).common.core_rules
        };
        for own in [false, true] {
            assert_eq!(of(own, Some(true)), CoreRules::Last);
        }
        assert_eq!(of(true, Some(false)), CoreRules::First);
        assert_eq!(of(true, None), CoreRules::Last);
        assert_eq!(of(false, Some(false)), CoreRules::Absent);
        assert_eq!(of(false, None), CoreRules::Absent);
    }

    #[test]
    fn other_rules_have_another_name() {
        let name = |own: &Waf, all: Option<&Waf>| RuleSet::new(own, all).name();
        let (off, on) = (
            waf(&[("SecRuleEngine", "Off")]),
            waf(&[("SecRuleEngine", "On")]),
        );
        assert_eq!(name(&on, None), name(&on.clone(), None));
        assert_ne!(name(&on, None), name(&off, None));
        assert_ne!(name(&on, None), name(&on, Some(&off)));
    }
}
