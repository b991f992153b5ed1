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
