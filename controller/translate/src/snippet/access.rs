//! `allow` and `deny`, which nginx asks in order, as lists of networks: the first that has an address decides.

use std::net::IpAddr;

use sluice_ir::{Cidr, IpAccess};

/// Networks that one snippet may name.
const MAX_NETWORKS: usize = 1000;

/// The lists of a snippet in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    lists: IpAccess,
    rest: Rest,
}

/// Everybody who is in no list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rest {
    /// Is let in, unless more comes.
    #[default]
    Undecided,
    Allowed,
    Denied,
}

impl Access {
    /// Takes one directive. `None`: two lists of which that of denied networks comes first cannot say it.
    pub(super) fn add(&mut self, directive: &str, network: &str) -> Option<()> {
        // What follows is never asked.
        if self.rest != Rest::Undecided {
            return Some(());
        }
        let IpAccess { allow, deny } = &mut self.lists;
        match (directive, network) {
            ("allow", "all") => self.rest = Rest::Allowed,
            ("deny", "all") => self.rest = Rest::Denied,
            ("allow", network) => allow.push(network.parse().ok()?),
            ("deny", network) if allow.is_empty() => deny.push(network.parse().ok()?),
            _ => return None,
        }
        (self.lists.allow.len() + self.lists.deny.len() <= MAX_NETWORKS).then_some(())
    }

    pub(super) fn finish(mut self) -> IpAccess {
        if self.rest != Rest::Denied {
            self.lists.allow.clear();
        } else if self.lists.allow.is_empty() {
            self.lists.deny = everybody();
        }
        self.lists
    }
}

/// Both lists in one location. nginx asks the first before the second, and one that allows leaves nobody to ask.
pub(crate) fn behind(first: &IpAccess, second: &IpAccess) -> IpAccess {
    let mut both = first.clone();
    if both.allow.is_empty() {
        both.allow.clone_from(&second.allow);
        both.deny.extend_from_slice(&second.deny);
    }
    both
}

/// Lists in responses and conditions: 50 networks for one.
pub(crate) fn size(lists: &IpAccess) -> usize {
    /// A network costs proxies as much as a fiftieth of a condition.
    const NETWORKS: usize = 50;
    (lists.allow.len() + lists.deny.len()).div_ceil(NETWORKS)
}

fn everybody() -> Vec<Cidr> {
    let all = [IpAddr::from([0u8; 4]), IpAddr::from([0u8; 16])];
    all.into_iter()
        .filter_map(|all| Cidr::new(all, 0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<IpAccess> {
        let mut access = Access::default();
        for directive in text.split(';') {
            let (name, network) = directive.trim().split_once(' ')?;
            access.add(name, network)?;
        }
        Some(access.finish())
    }

    fn shown(text: &str) -> Option<(String, String)> {
        let list = |list: &[Cidr]| {
            let texts: Vec<_> = list.iter().map(ToString::to_string).collect();
            texts.join(" ")
        };
        read(text).map(|access| (list(&access.allow), list(&access.deny)))
    }

    #[test]
    fn order_becomes_lists() {
        let shown = |text: &str| shown(text).map(|(allow, deny)| format!("+{allow} -{deny}"));
        for (text, lists) in [
            (
                "deny 10.0.0.1; deny 10.1.0.0/16",
                "+ -10.0.0.1/32 10.1.0.0/16",
            ),
            ("allow 10.0.0.1; deny all", "+10.0.0.1/32 -"),
            (
                "deny 10.0.0.1; allow 10.0.0.0/8; deny all",
                "+10.0.0.0/8 -10.0.0.1/32",
            ),
            ("deny all; allow 10.0.0.1", "+ -0.0.0.0/0 ::/0"),
            ("deny 10.0.0.1; allow all", "+ -10.0.0.1/32"),
            ("allow 10.0.0.1", "+ -"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(lists), "{text}");
        }
    }

    #[test]
    fn an_exception_from_what_is_denied_is_none() {
        for text in [
            "allow 10.0.0.1; deny 10.0.0.0/8",
            "deny unix:",
            "deny host.test",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
