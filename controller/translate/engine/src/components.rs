//! Connected components of objects that share server names.

use std::collections::BTreeMap;

use sluice_ir::ServerName;

use crate::input::Member;

/// Groups objects that share a name, directly or by way of others. Keeps the order within each group.
pub fn components<O>(members: Vec<Member<O>>) -> Vec<Vec<Member<O>>> {
    let mut leaders: Vec<usize> = (0..members.len()).collect();
    let mut first_with: BTreeMap<&ServerName, usize> = BTreeMap::new();
    for (position, member) in members.iter().enumerate() {
        for name in &member.names {
            let other = *first_with.entry(name).or_insert(position);
            let (a, b) = (leader(&mut leaders, position), leader(&mut leaders, other));
            if let Some(led) = leaders.get_mut(a.max(b)) {
                *led = a.min(b);
            }
        }
    }
    let leader_of: Vec<usize> = (0..members.len())
        .map(|position| leader(&mut leaders, position))
        .collect();
    let mut groups: BTreeMap<usize, Vec<Member<O>>> = BTreeMap::new();
    for (leader, member) in leader_of.into_iter().zip(members) {
        groups.entry(leader).or_default().push(member);
    }
    groups.into_values().collect()
}

/// The leader of a position. Shortens the way there for later lookups (path halving).
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
        let member = |(object, names): (usize, &&[&str])| Member {
            seniority: Default::default(),
            object,
            names: names
                .iter()
                .map(|name| ServerName::parse(name).unwrap())
                .collect(),
        };
        let members = names.iter().enumerate().map(member).collect();
        let groups = components(members).into_iter();
        groups
            .map(|group| group.into_iter().map(|member| member.object).collect())
            .collect()
    }

    #[test]
    fn objects_that_share_a_name_by_way_of_others_are_one_component() {
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
