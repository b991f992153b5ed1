//! Core rules around a location that does not have them: it removes them by their ids.
//!
//! Default actions and markers have no ids. They stay, and the engine mixes them with those of the location. So core rules are around
//! rules only that mean the same with them, and only where they have no other ids than theirs and bring nothing else
//! ([`ModSecurity::core_ids`](crate::ModSecurity::core_ids)).

use std::collections::BTreeSet;
use std::iter::once;
use std::ops::RangeInclusive;

use sluice_ir::Waf;
use sluice_ir::waf::{Action, Directive};

/// Ids that the core rules have for their own: its rules, and those of its packages of exclusions and its plugins.
const RESERVED: [RangeInclusive<u32>; 2] = [900_000..=999_999, 9_000_000..=9_999_999];

/// True if these rules mean the same with core rules of these ids around them, removed. `None`: removing them would leave something.
pub(super) fn is_unaffected(waf: &Waf, core_ids: Option<&BTreeSet<u32>>) -> bool {
    let rules = &waf.rules;
    let takes_defaults = |rule: &Directive| {
        let mut actions = rule.actions().iter();
        matches!(rule, Directive::DefaultAction(_)) || actions.any(|action| action.is("block"))
    };
    core_ids
        .is_some_and(|core| core.iter().all(is_reserved) && ids(waf).all(|id| !core.contains(&id)))
        && !rules.iter().any(takes_defaults)
        && (0..rules.len()).all(|place| ends_its_skips(&rules[place..]))
}

/// True if what the first of these rules skips ends among them: the engine goes on to the next marker with the name, wherever that is.
fn ends_its_skips(rules: &[Directive]) -> bool {
    let Some((first, behind)) = rules.split_first() else {
        return true;
    };
    let skips = first.actions().iter();
    let mut skips = skips.filter_map(|action| action.word("skipAfter"));
    skips.all(|name| {
        let is_end =
            |rule: &Directive| matches!(rule, Directive::Marker(marker) if marker.as_str() == name);
        behind.iter().any(is_end)
    })
}

/// Removes the core rules that are around a location, and no others: none of its own, and none of those that hold everywhere.
pub(super) fn without_core_rules(waf: &Waf, everywhere: Option<&Waf>) -> String {
    let kept: BTreeSet<u32> = once(waf).chain(everywhere).flat_map(ids).collect();
    let mut text = "SecRuleRemoveById".to_owned();
    for reserved in RESERVED {
        let (mut first, last) = reserved.clone().into_inner();
        for id in kept.range(reserved).copied().chain([last + 1]) {
            if first < id {
                text += &format!(" {first}-{}", id - 1);
            }
            first = id + 1;
        }
    }
    text + "\n"
}

fn is_reserved(id: &u32) -> bool {
    RESERVED.iter().any(|reserved| reserved.contains(id))
}

fn ids(waf: &Waf) -> impl Iterator<Item = u32> {
    let actions = waf.rules.iter().flat_map(Directive::actions);
    actions.filter_map(|action: &Action| action.word("id")?.parse().ok())
}
