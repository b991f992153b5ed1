use super::*;

#[test]
fn a_name_means_itself_and_a_service_is_one_of_the_cluster() {
    let search = [
        "ns.svc.cluster.local",
        "svc.cluster.local.",
        "cluster.local",
        "corp.example",
    ];
    let cluster = cluster_of(search.into_iter());
    assert_eq!(cluster.as_deref(), Some("cluster.local"));
    for name in [
        "web",
        "web.ns",
        "example.com",
        "svc",
        "web.ns.svc.cluster.local",
        "web.svc.example",
    ] {
        assert_eq!(whole(name, cluster.as_deref()), format!("{name}."));
    }
    assert_eq!(
        whole("web.ns.svc", cluster.as_deref()),
        "web.ns.svc.cluster.local."
    );
    assert_eq!(
        whole(
            "web.ns.svc",
            cluster_of(search.into_iter().skip(2)).as_deref()
        ),
        "web.ns.svc."
    );
}

/// Of any number of labels, and whatever is asked for beside: who serves a search domain never hears of it.
#[tokio::test]
async fn nobody_is_asked_about_a_name_in_a_search_domain() {
    let server = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap();
    let conf = b"search own.svc.cluster.local svc.cluster.local cluster.local corp.test\noptions ndots:5 timeout:1";
    let system = System::parse(conf, &[address]);
    let asked: Arc<Mutex<BTreeSet<Vec<u8>>>> = Arc::default();
    let told = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut question = [0; 512];
        while let Ok((length, client)) = server.recv_from(&mut question).await {
            told.lock()
                .unwrap()
                .insert(question[12..length - 4].to_vec());
            let mut answer = question[..length].to_vec();
            // There is no such name.
            (answer[2], answer[3]) = (0x80, 3);
            server.send_to(&answer, client).await.unwrap();
        }
    });
    let names = [
        "web",
        "web.other",
        "web.other.svc.cluster.local",
        "example.com",
        "a.b.c.d.e.example",
    ];
    for name in names {
        assert_eq!(
            system.look_up(name).await,
            Err(Failure::NoAddress),
            "{name}"
        );
    }
    let labels = |name: &str| {
        let mut labels = Vec::new();
        for label in name.split('.') {
            labels.push(u8::try_from(label.len()).unwrap());
            labels.extend(label.as_bytes());
        }
        labels.push(0);
        labels
    };
    assert_eq!(
        *asked.lock().unwrap(),
        names.into_iter().map(labels).collect()
    );
}

#[test]
fn hosts_have_names_and_aliases_and_addresses_of_one_family() {
    let text = "# none\n127.0.0.1 localhost Web\n::1 localhost # and no more\nfd00::1 six\nnobody here\n192.0.2.1\n";
    let all = hosts(text);
    let addresses = |name: &str| {
        let all = all.get(name).into_iter().flatten();
        all.map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(addresses("localhost"), "127.0.0.1");
    assert_eq!(
        (addresses("web"), addresses("six")),
        ("127.0.0.1".to_owned(), "fd00::1".to_owned())
    );
    assert_eq!(all.len(), 3);
}

#[test]
fn name_servers_are_those_of_resolv_conf_unless_flags_name_others() {
    let conf = b"# written by the kubelet\nnameserver 10.96.0.10\nnameserver fd00::a\nsearch a.svc.cluster.local\noptions \
        ndots:5 timeout:1 attempts:9\nnonsense\n";
    let system = System::parse(conf, &[]);
    let servers: Vec<_> = system
        .servers
        .addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(servers, ["10.96.0.10:53", "[fd00::a]:53"]);
    assert_eq!(system.servers.patience, Duration::from_secs(1));
    assert_eq!(system.servers.attempts, 2);
    let others = ["127.0.0.1:1053".parse().unwrap()];
    assert_eq!(System::parse(conf, &others).servers.addresses, others);
}
