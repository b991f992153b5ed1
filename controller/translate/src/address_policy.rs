//! The addresses that may be dialled because of what a tenant wrote (R9 of the security rules).
//!
//! ```text
//!   EndpointSlices, ExternalName, auth-url, mirror-target, the Service of a TCP port --> an address and a port
//!        --check--> an endpoint, or a report that says why not
//! ```
//!
//! One policy for every way to name an address, for the data plane and for the controller's own connections. It looks at
//! addresses and never at names: a name is checked when it has been resolved, each time it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use sluice_ir::Cidr;

/// Where clouds tell machines who they are, and with which credentials, outside of the link-local ranges (which are
/// refused as a whole: 169.254.169.254 everywhere, 169.254.170.2 and .23 of ECS and EKS, 169.254.42.42 of Scaleway,
/// 169.254.0.23 of Tencent, fe80::a9fe:a9fe of OpenStack).
///
/// Sources: docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html (`fd00:ec2::254`; `fd00:ec2::253`
/// is its DNS), docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html (`fd00:ec2::23`),
/// cloud.google.com/compute/docs/metadata/querying-metadata (`fd20:ce::254`), learn.microsoft.com/azure/virtual-network/
/// what-is-ip-address-168-63-129-16 (WireServer), alibabacloud.com/help/ecs/user-guide/view-instance-metadata
/// (`100.100.100.200`, `fd00:100::100:200`), docs.oracle.com/iaas/Content/Compute/Tasks/gettingmetadata.htm
/// (`fd00:c1::a9fe:a9fe`; `192.0.0.192` of Oracle Cloud Classic), cloudinit.readthedocs.io, datasource Scaleway
/// (`fd00:42::42`), techdocs.akamai.com/cloud-computing/docs/metadata-service-api (`fd00:a9fe:a9fe::1`).
pub const METADATA_NETWORKS: &[(IpAddr, u8)] = &[
    (IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)), 32),
    (IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)), 32),
    (IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)), 32),
    (
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)),
        128,
    ),
    (
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200)),
        128,
    ),
    (
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1)),
        128,
    ),
    (
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
        128,
    ),
    (
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0)),
        32,
    ),
    (
        IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
        128,
    ),
];

/// Decides which addresses are dialled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// `--allow-upstream-cidr`: ranges that are open whatever else is said, except for our own listeners.
    pub allowed: Vec<Cidr>,
    /// Loopback is open for addresses that are written in a manifest: the folder is the operator's own, and the pods are
    /// processes of this machine. Names never lead there: what they resolve to is somebody else's word.
    pub written_loopback: bool,
    /// The addresses of this machine, beside loopback, and of the other machines that run Sluice, as far as they are known.
    pub own_addresses: BTreeSet<IpAddr>,
    /// The ports that the controllers and their data planes listen on, on any of those.
    pub own_ports: BTreeSet<u16>,
    /// Those of them that speak HTTP.
    pub http_ports: BTreeSet<u16>,
    /// Addresses of Services in front of the data planes, and the traffic that they take.
    pub own_services: BTreeMap<SocketAddr, Carries>,
}

/// Traffic that an address takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Requests. That one comes back is seen by what is written into it.
    Http,
    /// Connections or datagrams, of which nothing is known: that they come back is not seen.
    Anything,
}

/// Provenance of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// It stands in an object.
    Written,
    /// DNS says so.
    Resolved,
}

/// Why an address is not dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// This machine.
    Loopback,
    /// 169.254.0.0/16, fe80::/10: metadata services and neighbours of the node.
    LinkLocal,
    /// A cloud's metadata service.
    Metadata,
    /// 0.0.0.0/8, `::`.
    Unspecified,
    /// Groups.
    Multicast,
    /// Everybody.
    Broadcast,
    /// Sluice itself listens there.
    OwnListener,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Forbidden::Loopback => "a loopback address",
            Forbidden::LinkLocal => "a link-local address",
            Forbidden::Metadata => "the metadata service of a cloud",
            Forbidden::Unspecified => "an unspecified address",
            Forbidden::Multicast => "a multicast address",
            Forbidden::Broadcast => "the broadcast address",
            Forbidden::OwnListener => "a port that Sluice itself listens on",
        })?;
        match self {
            Forbidden::OwnListener => Ok(()),
            _ => f.write_str(" (--allow-upstream-cidr opens ranges)"),
        }
    }
}

impl AddressPolicy {
    /// Judges an address that requests are sent to. Of an IPv6 address that embeds an IPv4 address, both are judged.
    pub fn check(&self, address: SocketAddr, from: Provenance) -> Result<(), Forbidden> {
        self.check_for(Carries::Http, address, from)
    }

    /// The same for what does not have to be requests.
    pub fn check_for(
        &self,
        carries: Carries,
        address: SocketAddr,
        from: Provenance,
    ) -> Result<(), Forbidden> {
        let ip = address.ip().to_canonical();
        let (certain, possible) = match ip {
            IpAddr::V4(_) => (Vec::new(), Vec::new()),
            IpAddr::V6(ip) => (embedded(ip), possibly_embedded(ip)),
        };
        let certain = || std::iter::once(ip).chain(certain.iter().copied().map(IpAddr::V4));
        let possible = || possible.iter().copied().map(IpAddr::V4);
        if certain()
            .chain(possible())
            .any(|ip| self.is_own(SocketAddr::new(ip, address.port()), carries))
        {
            return Err(Forbidden::OwnListener);
        }
        let is_allowed = |ip: &IpAddr| self.allowed.iter().any(|range| range.contains(*ip));
        if is_allowed(&ip) {
            return Ok(());
        }
        let is_written = self.written_loopback && from == Provenance::Written;
        let refused = |ip: IpAddr| {
            let class = class(ip).filter(|class| !(is_written && *class == Forbidden::Loopback));
            class.filter(|_| !is_allowed(&ip))
        };
        let matters = |class: &Forbidden| {
            matches!(
                class,
                Forbidden::Loopback | Forbidden::LinkLocal | Forbidden::Metadata
            )
        };
        let found = certain()
            .find_map(refused)
            .or_else(|| possible().filter_map(refused).find(matters));
        found.map_or(Ok(()), Err)
    }

    /// Linux takes an unspecified address for loopback.
    fn is_own(&self, address: SocketAddr, carries: Carries) -> bool {
        let (ip, port) = (address.ip(), address.port());
        let is_machine =
            || ip.is_loopback() || ip.is_unspecified() || self.own_addresses.contains(&ip);
        let is_service =
            |leads: &Carries| carries == Carries::Anything || *leads == Carries::Anything;
        (self.own_ports.contains(&port) && is_machine())
            || self.own_services.get(&address).is_some_and(is_service)
    }
}

fn class(ip: IpAddr) -> Option<Forbidden> {
    let is_in = |(network, length): &(IpAddr, u8)| {
        Cidr::new(*network, *length).is_some_and(|cidr| cidr.contains(ip))
    };
    let is_metadata = METADATA_NETWORKS.iter().any(is_in);
    match ip {
        _ if ip.is_loopback() => Some(Forbidden::Loopback),
        _ if is_metadata => Some(Forbidden::Metadata),
        _ if ip.is_multicast() => Some(Forbidden::Multicast),
        IpAddr::V4(ip) if ip.octets()[0] == 0 => Some(Forbidden::Unspecified),
        IpAddr::V4(ip) if ip.is_broadcast() => Some(Forbidden::Broadcast),
        IpAddr::V4(ip) if ip.is_link_local() => Some(Forbidden::LinkLocal),
        IpAddr::V6(ip) if ip.is_unspecified() => Some(Forbidden::Unspecified),
        IpAddr::V6(ip) if ip.is_unicast_link_local() => Some(Forbidden::LinkLocal),
        _ => None,
    }
}

/// The IPv4 addresses that gateways and tunnels read in an IPv6 address.
fn embedded(ip: Ipv6Addr) -> Vec<Ipv4Addr> {
    let bytes = ip.octets();
    let at = |place: usize| {
        bytes
            .get(place..)
            .and_then(|rest| rest.first_chunk::<4>())
            .copied()
            .map(Ipv4Addr::from)
    };
    let prefix = |length: usize| bytes.get(..length).unwrap_or_default();
    let last = || at(12).into_iter();
    let mut found = Vec::new();
    // IPv4-compatible (RFC 4291) and IPv4-translated (RFC 2765); `::` and `::1` are what they are.
    if prefix(12) == [0; 12] && !ip.is_unspecified() && !ip.is_loopback() {
        found.extend(last());
    }
    if prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0] {
        found.extend(last());
    }
    // NAT64 (RFC 6052).
    if prefix(12) == [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0] {
        found.extend(last());
    }
    // 6to4 (RFC 3056).
    if prefix(2) == [0x20, 0x02] {
        found.extend(at(2));
    }
    // Teredo (RFC 4380): its server, and the client, inverted.
    if prefix(4) == [0x20, 0x01, 0, 0] {
        found.extend(at(4));
        found.extend(at(12).map(|client| Ipv4Addr::from_bits(!client.to_bits())));
    }
    // ISATAP (RFC 5214), in any network.
    if matches!(bytes, [_, _, _, _, _, _, _, _, 0 | 2, 0, 0x5e, 0xfe, ..]) {
        found.extend(last());
    }
    found
}

/// The local prefix of NAT64 (RFC 8215): an IPv4 address may stand at any of the places that the length of a prefix from /48
/// gives it; byte 8 is skipped. At the others stands something else, so these only count where they are to be feared.
fn possibly_embedded(ip: Ipv6Addr) -> Vec<Ipv4Addr> {
    match ip.octets() {
        [0, 0x64, 0xff, 0x9b, 0, 1, a, b, _, c, d, e, f, g, h, i] => {
            [[a, b, c, d], [b, c, d, e], [c, d, e, f], [f, g, h, i]]
                .map(Ipv4Addr::from)
                .into()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        let (address, length) = text.split_once('/').unwrap();
        Cidr::new(address.parse().unwrap(), length.parse().unwrap()).unwrap()
    }

    fn check(policy: &AddressPolicy, ip: &str, from: Provenance) -> Result<(), Forbidden> {
        policy.check(SocketAddr::new(ip.parse().unwrap(), 80), from)
    }

    fn v6(segments: [u16; 8]) -> IpAddr {
        Ipv6Addr::from(segments).into()
    }

    /// Every way to write each of these in IPv6.
    fn spellings(v4: Ipv4Addr) -> Vec<IpAddr> {
        let [a, b, c, d] = v4.octets().map(u16::from);
        let (high, low) = (a << 8 | b, c << 8 | d);
        let mut all = unmistakable(v4);
        all.extend([
            v6([0x64, 0xff9b, 1, 0, 0, 0, high, low]),
            v6([0x64, 0xff9b, 1, high, c, d << 8, 0, 0]),
            v6([0x64, 0xff9b, 1, a, b, low, 0, 0]),
            v6([0x64, 0xff9b, 1, 0, a, b << 8 | c, d << 8, 0]),
        ]);
        all
    }

    /// Those that can be read in one way only.
    fn unmistakable(v4: Ipv4Addr) -> Vec<IpAddr> {
        let [a, b, c, d] = v4.octets().map(u16::from);
        let (high, low) = (a << 8 | b, c << 8 | d);
        vec![
            v4.into(),
            v6([0, 0, 0, 0, 0, 0xffff, high, low]),
            v6([0, 0, 0, 0, 0, 0, high, low]),
            v6([0, 0, 0, 0, 0xffff, 0, high, low]),
            v6([0x64, 0xff9b, 0, 0, 0, 0, high, low]),
            v6([0x2002, high, low, 0, 0, 0, 0, 1]),
            v6([0x2001, 0, high, low, 0, 0, !0x0808, !0x0808]),
            v6([0x2001, 0, 0x0808, 0x0808, 0, 0, !high, !low]),
            v6([0xfd12, 0, 0, 0, 0, 0x5efe, high, low]),
            v6([0xfd12, 0, 0, 0, 0x200, 0x5efe, high, low]),
        ]
    }

    #[test]
    fn this_machine_and_its_cloud_are_forbidden_in_every_spelling() {
        let policy = AddressPolicy::default();
        let forbidden = [
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "169.254.170.2",
            "169.254.169.123",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
        ];
        // Nothing that is worth reaching answers at these: where they may be something else, they are.
        let useless = ["224.0.0.1", "255.255.255.255", "0.1.2.3"];
        let spelled = forbidden
            .into_iter()
            .flat_map(|text| spellings(text.parse().unwrap()));
        for ip in spelled.chain(
            useless
                .into_iter()
                .flat_map(|text| unmistakable(text.parse().unwrap())),
        ) {
            for from in [Provenance::Written, Provenance::Resolved] {
                assert!(policy.check(SocketAddr::new(ip, 80), from).is_err(), "{ip}");
            }
        }
        for text in [
            "::",
            "::1",
            "fe80::1",
            "fe80::a9fe:a9fe",
            "ff02::1",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
        ] {
            assert!(
                check(&policy, text, Provenance::Resolved).is_err(),
                "{text}"
            );
        }
        for text in [
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
            "fd00:a9fe:a9fe::1",
            "fd00:100::100:200",
            "0.0.0.0",
        ] {
            assert!(check(&policy, text, Provenance::Written).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_elsewhere_is_allowed_in_every_spelling() {
        let policy = AddressPolicy::default();
        for text in [
            "10.0.0.1",
            "192.0.2.1",
            "100.64.0.1",
            "100.100.100.201",
            "240.0.0.1",
            "8.8.8.8",
        ] {
            for ip in spellings(text.parse().unwrap()) {
                assert_eq!(
                    policy.check(SocketAddr::new(ip, 80), Provenance::Resolved),
                    Ok(()),
                    "{text} as {ip}"
                );
            }
        }
        for text in ["2001:db8::1", "fd00::1", "2600::1"] {
            assert_eq!(check(&policy, text, Provenance::Resolved), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_folder_may_write_loopback_and_no_name_may_lead_there() {
        let policy = AddressPolicy {
            written_loopback: true,
            ..AddressPolicy::default()
        };
        for ip in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(check(&policy, ip, Provenance::Written), Ok(()));
            assert_eq!(
                check(&policy, ip, Provenance::Resolved),
                Err(Forbidden::Loopback)
            );
        }
        assert_eq!(
            check(&policy, "169.254.169.254", Provenance::Written),
            Err(Forbidden::LinkLocal)
        );
    }

    #[test]
    fn the_operator_opens_ranges_and_nobody_opens_our_own_listeners() {
        let policy = AddressPolicy {
            allowed: vec![
                cidr("127.0.0.0/8"),
                cidr("169.254.20.10/32"),
                cidr("::/0"),
                cidr("10.0.0.0/8"),
            ],
            written_loopback: true,
            own_addresses: BTreeSet::from(["10.1.2.3".parse().unwrap()]),
            own_ports: BTreeSet::from([10254]),
            ..AddressPolicy::default()
        };
        for ip in ["127.0.0.1", "169.254.20.10", "::1", "10.1.2.3"] {
            assert_eq!(check(&policy, ip, Provenance::Resolved), Ok(()), "{ip}");
        }
        assert_eq!(
            check(&policy, "169.254.169.254", Provenance::Resolved),
            Err(Forbidden::LinkLocal)
        );
        // What is open in one half of a Teredo address opens the other half of none.
        let narrow = AddressPolicy {
            allowed: vec![cidr("10.0.0.0/8")],
            ..AddressPolicy::default()
        };
        let teredo = "2001:0:a01:203::5601:5601";
        assert_eq!(
            check(&narrow, teredo, Provenance::Resolved),
            Err(Forbidden::LinkLocal)
        );
        for own in ["127.0.0.1", "127.1.2.3", "0.0.0.0", "10.1.2.3"] {
            for ip in spellings(own.parse().unwrap()) {
                let address = SocketAddr::new(ip, 10254);
                assert_eq!(
                    policy.check(address, Provenance::Written),
                    Err(Forbidden::OwnListener),
                    "{own} as {ip}"
                );
            }
        }
        let elsewhere = SocketAddr::new("10.1.2.4".parse().unwrap(), 10254);
        assert_eq!(policy.check(elsewhere, Provenance::Written), Ok(()));
    }

    #[test]
    fn requests_may_come_back_by_a_service_and_nothing_else_may() {
        let own_services = [
            ("10.96.0.1:80", Carries::Http),
            ("10.96.0.1:9000", Carries::Anything),
        ];
        let own_services = own_services
            .map(|(address, leads)| (address.parse().unwrap(), leads))
            .into_iter()
            .collect();
        let policy = AddressPolicy {
            allowed: vec![cidr("0.0.0.0/0")],
            own_services,
            ..AddressPolicy::default()
        };
        let forbidden = |carries, address: &str| {
            policy
                .check_for(carries, address.parse().unwrap(), Provenance::Written)
                .is_err()
        };
        for (address, http, anything) in [
            ("10.96.0.1:80", false, true),
            ("10.96.0.1:9000", true, true),
            ("10.96.0.1:81", false, false),
        ] {
            let found = (
                forbidden(Carries::Http, address),
                forbidden(Carries::Anything, address),
            );
            assert_eq!(found, (http, anything), "{address}");
        }
    }
}
