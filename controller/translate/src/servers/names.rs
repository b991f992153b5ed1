//! Which servers an Ingress has to do with, and so which Ingresses have to do with each other.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::ServerName;
use sluice_syntax::value;

use super::server_builder;
use crate::annotations::canonical;

/// Every server that an Ingress can make, change, or be kept from by another Ingress. A name too many does no harm: the
/// Ingresses that share it are translated together.
pub(crate) fn names(ingress: &Ingress) -> BTreeSet<ServerName> {
    let rules = ingress
        .spec
        .iter()
        .flat_map(|spec| spec.rules.iter().flatten());
    let hosts =
        rules.filter_map(|rule| ServerName::parse(rule.host.as_deref().unwrap_or_default()).ok());
    let mut names: BTreeSet<ServerName> = hosts.collect();
    if ingress
        .spec
        .iter()
        .all(|spec| spec.rules.iter().flatten().next().is_none())
    {
        names.insert(ServerName::CatchAll);
    }
    for (key, text) in ingress.metadata.annotations.iter().flatten() {
        let name = key.rsplit_once('/').map_or(key.as_str(), |(_, name)| name);
        match canonical(name) {
            "server-alias" => {
                names.extend(
                    value::list(text)
                        .into_iter()
                        .filter_map(|text| ServerName::parse(text).ok()),
                );
            }
            "from-to-www-redirect" => {
                let others: Vec<ServerName> = names
                    .iter()
                    .filter_map(server_builder::other_name)
                    .collect();
                names.extend(others);
            }
            _ => {}
        }
    }
    names
}

/// Puts together what shares a name, directly or by way of others. Keeps the order within each group.
pub(crate) fn components<T>(
    members: Vec<(T, BTreeSet<ServerName>)>,
) -> Vec<Vec<(T, BTreeSet<ServerName>)>> {
    let mut leaders: Vec<usize> = (0..members.len()).collect();
    let mut first_with: BTreeMap<&ServerName, usize> = BTreeMap::new();
    for (position, (_, names)) in members.iter().enumerate() {
        for name in names {
            let other = *first_with.entry(name).or_insert(position);
            let (a, b) = (leader(&mut leaders, position), leader(&mut leaders, other));
            if let Some(led) = leaders.get_mut(a.max(b)) {
                *led = a.min(b);
            }
        }
    }
    let of: Vec<usize> = (0..members.len())
        .map(|position| leader(&mut leaders, position))
        .collect();
    let mut groups: BTreeMap<usize, Vec<(T, BTreeSet<ServerName>)>> = BTreeMap::new();
    for (leader, member) in of.into_iter().zip(members) {
        groups.entry(leader).or_default().push(member);
    }
    groups.into_values().collect()
}

/// Of a position, with the way there made shorter for the next who asks.
fn leader(leaders: &mut [usize], mut position: usize) -> usize {
    while leaders[position] != position {
        leaders[position] = leaders[leaders[position]];
        position = leaders[position];
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(names: &[&[&str]]) -> Vec<Vec<usize>> {
        let parse = |names: &&[&str]| {
            names
                .iter()
                .map(|name| ServerName::parse(name).unwrap())
                .collect()
        };
        let members = names.iter().map(parse).enumerate().collect();
        let groups = components(members).into_iter();
        groups
            .map(|group| group.into_iter().map(|(member, _)| member).collect())
            .collect()
    }

    #[test]
    fn what_shares_a_name_by_way_of_others_belongs_together() {
        assert_eq!(
            grouped(&[&["a"], &["b"], &["b", "a"], &["c"]]),
            [vec![0, 1, 2], vec![3]]
        );
        assert_eq!(
            grouped(&[&["a", "b"], &["c", "d"], &["e"], &["d", "b"]]),
            [vec![0, 1, 3], vec![2]]
        );
        assert_eq!(grouped(&[&[], &[]]), [[0], [1]]);
    }
}
