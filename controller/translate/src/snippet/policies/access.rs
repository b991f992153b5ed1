//! `allow` and `deny`, which nginx asks in order, as lists of networks: the first that has an address decides.

use std::net::IpAddr;

use sluice_ir::{Cidr, IpAccess};

/// Networks that one snippet may name, and that its lists may have.
const MAX_NETWORKS: usize = 1000;

/// The lists of a snippet in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::snippet) struct Access {
    lists: IpAccess,
    named: usize,
    rest: Rest,
    satisfy: Option<Satisfy>,
}

/// `satisfy`: all of lists and authentication, or any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Satisfy {
    All,
    Any,
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
    /// Takes one directive. `None`: it names no network, or there are too many. The list of denied networks comes first, so it has what
    /// no network has that was allowed before.
    pub(in crate::snippet) fn add(&mut self, directive: &str, network: &str) -> Option<()> {
        // What follows is never asked.
        if self.rest != Rest::Undecided {
            return Some(());
        }
        let IpAccess { allow, deny } = &mut self.lists;
        match (directive, network) {
            ("allow", "all") => self.rest = Rest::Allowed,
            ("deny", "all") => self.rest = Rest::Denied,
            ("allow", network) => allow.push(network.parse().ok()?),
            ("deny", network) => {
                let network: Cidr = network.parse().ok()?;
                deny.extend(network.without(allow, MAX_NETWORKS)?);
            }
            _ => return None,
        }
        self.named += 1;
        let networks = self.lists.allow.len() + self.lists.deny.len();
        (self.named.max(networks) <= MAX_NETWORKS).then_some(())
    }

    /// Takes `satisfy`, which nginx does not take twice.
    pub(in crate::snippet) fn satisfy(&mut self, how: &str) -> Option<()> {
        let satisfy = match how {
            "all" => Satisfy::All,
            "any" => Satisfy::Any,
            _ => return None,
        };
        self.satisfy.replace(satisfy).is_none().then_some(())
    }

    /// `satisfy`, if it is said.
    pub(in crate::snippet) fn satisfied_by(&self) -> Option<Satisfy> {
        self.satisfy
    }

    pub(in crate::snippet) fn finish(mut self) -> IpAccess {
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
            (
                "allow 10.0.0.1; deny 10.0.0.0/30",
                "+ -10.0.0.0/32 10.0.0.2/31",
            ),
            (
                "allow 10.0.0.1; deny 10.0.0.0/30; allow 10.0.0.0/29; deny all",
                "+10.0.0.1/32 10.0.0.0/29 -10.0.0.0/32 10.0.0.2/31",
            ),
            ("allow 10.0.0.0/8; deny 10.0.0.1; allow all", "+ -"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(lists), "{text}");
        }
    }

    #[test]
    fn only_networks_are_denied_and_not_too_many() {
        for text in ["allow 10.0.0.1; deny unix:", "deny unix:", "deny host.test"] {
            assert_eq!(shown(text), None, "{text}");
        }
        let many = |count: usize, of: &str| of.repeat(count).trim_end_matches(';').to_owned();
        assert!(read(&many(MAX_NETWORKS, "deny ::1;")).is_some());
        assert_eq!(read(&many(MAX_NETWORKS + 1, "deny ::1;")), None);
        // Each is cut into 127 others.
        let cut = format!("allow ::1;{}", many(8, "deny ::/1;"));
        assert_eq!(read(&cut), None);
        assert_eq!(
            read(&format!("allow ::/0;{}", many(1000, "deny ::1;"))),
            None
        );
    }

    /// nginx: the first that has an address decides.
    #[test]
    fn lists_let_in_whom_the_order_lets_in() {
        let mut state = 11_usize;
        let mut below = |most: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        for _ in 0..2000 {
            let rules: Vec<(bool, String)> = (0..1 + below(6))
                .map(|_| {
                    let network = format!("10.0.0.{}/{}", below(16), 28 + below(5));
                    let network = if below(8) == 0 {
                        "all".to_owned()
                    } else {
                        network
                    };
                    (below(2) == 0, network)
                })
                .collect();
            let text = rules.iter().map(|(allows, network)| {
                let name = if *allows { "allow" } else { "deny" };
                format!("{name} {network}")
            });
            let text = text.collect::<Vec<_>>().join(";");
            let lists = read(&text).unwrap();
            for last in 0..20_u8 {
                let address = IpAddr::from([10, 0, 0, last]);
                let has = |network: &str| {
                    network == "all" || network.parse::<Cidr>().unwrap().contains(address)
                };
                let mut first = rules.iter().filter(|(_, network)| has(network));
                let expected = first.next().is_none_or(|(allows, _)| *allows);
                let is_in = |list: &[Cidr]| list.iter().any(|it| it.contains(address));
                let got = !is_in(&lists.deny) && (lists.allow.is_empty() || is_in(&lists.allow));
                assert_eq!(got, expected, "{text}: {address}");
            }
        }
    }
}
