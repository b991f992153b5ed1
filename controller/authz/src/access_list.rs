//! Lists of addresses, where one thing is enough (`satisfy: any`): an address may be it.

use std::net::IpAddr;

use sluice_ir::{Cidr, IpAccess};

/// Result of the lists for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListMatch {
    /// It is on the list: nothing else is asked for.
    Allowed,
    /// It is on the other list, or on none where there is one.
    Denied,
    /// It is on neither list.
    Unknown,
}

/// nginx: `deny` before `allow`; a list of those who are allowed denies all others. An address that is not known is on
/// no list.
pub(crate) fn match_lists(access: &IpAccess, client: Option<IpAddr>) -> ListMatch {
    let is_on =
        |list: &[Cidr]| client.is_some_and(|client| list.iter().any(|cidr| cidr.contains(client)));
    if is_on(&access.deny) {
        ListMatch::Denied
    } else if is_on(&access.allow) {
        ListMatch::Allowed
    } else if access.allow.is_empty() {
        ListMatch::Unknown
    } else {
        ListMatch::Denied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_the_list_is_enough() {
        let network = |text: &str| vec![Cidr::new(text.parse().unwrap(), 8).unwrap()];
        let access = IpAccess {
            allow: network("10.0.0.0"),
            deny: network("11.0.0.0"),
        };
        let matched = |access: &IpAccess, client: &str| match_lists(access, client.parse().ok());
        assert_eq!(matched(&access, "10.1.2.3"), ListMatch::Allowed);
        assert_eq!(matched(&access, "::ffff:10.1.2.3"), ListMatch::Allowed);
        for other in ["11.1.1.1", "12.1.1.1", "::1", "", "unix"] {
            assert_eq!(matched(&access, other), ListMatch::Denied, "{other:?}");
        }
        let only_denied = IpAccess {
            allow: Vec::new(),
            ..access
        };
        assert_eq!(matched(&only_denied, "12.1.1.1"), ListMatch::Unknown);
        assert_eq!(matched(&only_denied, "11.1.1.1"), ListMatch::Denied);
    }
}
