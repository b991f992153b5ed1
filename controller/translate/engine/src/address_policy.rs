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

/// Metadata services of clouds outside of the link-local ranges, which are rejected as a whole: 169.254.169.254 everywhere,
/// 169.254.170.2 and .23 of ECS and EKS, 169.254.42.42 of Scaleway, 169.254.0.23 of Tencent, fe80::a9fe:a9fe of OpenStack. They
/// give machines their identity and credentials.
///
/// Sources: docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html (`fd00:ec2::254`; `fd00:ec2::253` is
/// its DNS), docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html (`fd00:ec2::23`),
/// cloud.google.com/compute/docs/metadata/querying-metadata (`fd20:ce::254`),
/// learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16 (WireServer),
/// alibabacloud.com/help/ecs/user-guide/view-instance-metadata (`100.100.100.200`, `fd00:100::100:200`),
/// docs.oracle.com/iaas/Content/Compute/Tasks/gettingmetadata.htm (`fd00:c1::a9fe:a9fe`; `192.0.0.192` of Oracle Cloud
/// Classic), cloudinit.readthedocs.io, datasource Scaleway (`fd00:42::42`),
/// techdocs.akamai.com/cloud-computing/docs/metadata-service-api (`fd00:a9fe:a9fe::1`).
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
    /// processes of this machine. Names never lead there: what they resolve to is not trusted.
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
mod tests;
