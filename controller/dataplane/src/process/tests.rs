//! Found processes, and processes that must be left alone.

use std::net::SocketAddr;

use super::*;

/// A process with the directory in its arguments, like a data plane.
fn sleeper(directory: &Path) -> Process {
    let process = Process::start(
        tail(directory),
        &directory.join("record"),
        Some("dreams".to_owned()),
    )
    .unwrap();
    // `exec` sets the arguments a moment after the program.
    while !is_ours(process.pid(), directory) {
        std::thread::yield_now();
    }
    process
}

/// Waits for a file that never appears.
fn tail(directory: &Path) -> Command {
    let mut command = Command::new("tail");
    command
        .arg("-F")
        .arg(directory.join("nothing"))
        .stderr(std::process::Stdio::null());
    command
}

#[tokio::test]
async fn another_controller_finds_the_process_and_notices_its_exit() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("record");
    assert!(Process::find(&file).is_none(), "there is none");
    let mut own = sleeper(directory.path());
    let mut adopted = Process::find(&file).unwrap();
    assert_eq!(
        (adopted.pid(), adopted.serves()),
        (own.pid(), Some("dreams"))
    );
    assert!(own.is_running() && adopted.is_running());
    adopted.set_serves(None).unwrap();
    assert_eq!(Process::find(&file).unwrap().serves(), None);
    adopted.signal(Signal::KILL).unwrap();
    adopted.ended().await;
    assert!(Process::find(&file).is_none(), "a zombie");
    let leader = |orphans: Option<Orphans>| orphans.map(|orphans| orphans.leader);
    assert_eq!(leader(Orphans::of_dead(&file)), Some(own.pid()));
    assert!(own.ended().await.contains("signal: 9"));
    assert!(Process::find(&file).is_none() && leader(Orphans::of_dead(&file)) == Some(own.pid()));
    own.signal(Signal::KILL).unwrap();
    adopted.signal(Signal::KILL).unwrap();
    assert!(!own.is_running() && !adopted.is_running());
}

#[test]
fn listener_of_an_address_is_found() {
    let listening = std::net::TcpListener::bind("127.82.7.1:0").unwrap();
    let address = listening.local_addr().unwrap();
    let this = rustix::process::getpid();
    assert!(listens(this, address));
    let expected = format!("(process {})", std::process::id());
    assert!(listener(address).is_some_and(|listener| listener.contains(&expected)));
    // What waits for clients of another address has not taken this one.
    let elsewhere = SocketAddr::new("127.82.7.2".parse().unwrap(), address.port());
    assert!(!listens(this, elsewhere) && listener(elsewhere).is_none());
    let everywhere = SocketAddr::new("0.0.0.0".parse().unwrap(), address.port());
    assert!(listens(this, everywhere) && listener(everywhere).is_some());
    drop(listening);
    assert!(!listens(this, address) && listener(address).is_none());
}

#[test]
fn listeners_of_one_port_at_two_addresses_are_told_apart() {
    let own = std::net::TcpListener::bind("127.82.7.3:0").unwrap();
    let address = own.local_addr().unwrap();
    let elsewhere = SocketAddr::new("127.82.7.4".parse().unwrap(), address.port());
    let script = "import socket, sys, time\ns = socket.socket()\ns.bind((sys.argv[1], int(sys.argv[2])))\n\
                  s.listen()\nprint(flush=True)\ntime.sleep(600)\n";
    let mut other = std::process::Command::new("python3")
        .args(["-c", script, "127.82.7.4", &address.port().to_string()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 1];
    std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let found = [address, elsewhere].map(listener);
    other.kill().unwrap();
    other.wait().unwrap();
    for (found, id) in found.into_iter().zip([std::process::id(), other.id()]) {
        let expected = format!("(process {id})");
        assert!(
            found
                .as_ref()
                .is_some_and(|found| found.contains(&expected)),
            "{found:?}, {id}"
        );
    }
}

#[test]
fn addresses_overlap_where_one_client_may_reach_both() {
    for (one, other, expected) in [
        ("127.0.0.1:80", "127.0.0.1:80", true),
        ("127.0.0.1:80", "127.0.0.1:81", false),
        ("127.0.0.1:80", "127.0.0.2:80", false),
        ("0.0.0.0:80", "127.0.0.2:80", true),
        ("[::]:80", "127.0.0.2:80", true),
        ("[::]:80", "[::1]:80", true),
        ("0.0.0.0:80", "[::1]:80", false),
        ("[::ffff:127.0.0.1]:80", "127.0.0.1:80", true),
        ("[::ffff:127.0.0.1]:80", "0.0.0.0:80", true),
        ("[::2]:80", "[::1]:80", false),
    ] {
        let [a, b] = [one, other].map(|text| text.parse().unwrap());
        assert_eq!(
            [overlap(a, b), overlap(b, a)],
            [expected; 2],
            "{one} {other}"
        );
    }
}

#[tokio::test]
async fn reused_pid_is_not_the_recorded_process() {
    let directory = tempfile::tempdir().unwrap();
    let own = sleeper(directory.path());
    let file = directory.path().join("record");
    let Record { boot, started, .. } = own.record.clone();
    let record = Record {
        serves: None,
        ..own.record
    };
    let others = [
        Record {
            started: started + 1,
            ..record.clone()
        },
        Record {
            boot: "another".to_owned(),
            ..record
        },
    ];
    assert!(Process::find(&file).is_some() && boot != "another");
    for record in others {
        record.write(&file).unwrap();
        assert!(
            Process::find(&file).is_none() && Orphans::of_dead(&file).is_none(),
            "{record:?}"
        );
    }
    fs::write(&file, "no record").unwrap();
    assert!(Process::find(&file).is_none());
}

#[tokio::test]
async fn program_is_compared_by_inode() {
    let directory = tempfile::tempdir().unwrap();
    let own = sleeper(directory.path());
    let program = fs::read_link(format!("/proc/{}/exe", own.record.pid)).unwrap();
    let copy = directory.path().join("sleep");
    fs::copy(&program, &copy).unwrap();
    assert!(own.runs(&program) && !own.runs(&copy));
}

/// A process that is not found gets no signal, whatever the record says.
#[tokio::test]
async fn process_of_another_program_or_directory_is_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let own = sleeper(directory.path());
    let file = directory.path().join("record");
    let program = own
        .record
        .program
        .map(|Executable(device, inode)| Executable(device, inode + 1));
    Record {
        program,
        ..own.record
    }
    .write(&file)
    .unwrap();
    assert!(Process::find(&file).is_none(), "it runs another program");

    let beside = format!("{}0", directory.path().display());
    let mut innocent = Command::new("sleep");
    innocent.arg("600");
    for command in [innocent, tail(Path::new(&beside))] {
        let innocent = Process::start(command, &file, None).unwrap();
        assert!(
            innocent.is_running() && Process::find(&file).is_none(),
            "the directory is not in its arguments"
        );
    }
}

#[tokio::test]
async fn record_behind_a_symlink_is_ignored() {
    let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let _own = sleeper(directory.path());
    let file = directory.path().join("record");
    fs::rename(&file, elsewhere.path().join("record")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("record"), &file).unwrap();
    assert!(Process::find(&file).is_none() && Orphans::of_dead(&file).is_none());
}

#[tokio::test]
async fn only_orphans_of_the_same_program_are_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut leader = tail(directory.path());
    leader.process_group(0);
    let mut leader = Process::start(leader, &directory.path().join("record"), None).unwrap();
    let group = leader.pid().as_raw_nonzero().get();
    let member = |program: &str, argument: &Path| {
        let mut command = Command::new(program);
        command
            .arg(argument)
            .process_group(group)
            .stdout(std::process::Stdio::null());
        Process::start(command, &directory.path().join(program), None).unwrap()
    };
    let (mut worker, innocent) = (
        member("tail", Path::new("-f")),
        member("sleep", Path::new("600")),
    );
    leader.signal(Signal::KILL).unwrap();
    let orphans = leader.orphans();
    leader.ended().await;
    assert!(orphans.any());
    orphans.kill().await;
    assert!(innocent.is_running() && !orphans.any());
    assert!(worker.ended().await.contains("signal: 9"));
}

#[test]
fn arguments_contain_a_path_or_paths_below_it() {
    for text in [
        "/run/a",
        "-c /run/a/nginx.conf",
        "nginx: master process nginx -p /run/a -c x",
    ] {
        assert!(contains_path(text, "/run/a"), "{text}");
    }
    for text in ["/run/ab", "/run", "", "/run/a.b"] {
        assert!(!contains_path(text, "/run/a"), "{text}");
    }
}
