//! Processes of tests: what is found again, and who is left alone.

use super::*;

/// A process with the folder in its arguments, as a data plane has it.
fn sleeper(folder: &Path) -> Process {
    let process = Process::start(
        tail(folder),
        &folder.join("record"),
        Some("dreams".to_owned()),
    )
    .unwrap();
    // Its arguments are there a moment after its program is.
    while !is_ours(process.pid(), folder) {
        std::thread::yield_now();
    }
    process
}

/// Waits for a file that never comes.
fn tail(folder: &Path) -> Command {
    let mut command = Command::new("tail");
    command
        .arg("-F")
        .arg(folder.join("nothing"))
        .stderr(std::process::Stdio::null());
    command
}

#[tokio::test]
async fn a_process_is_found_again_by_another_controller_and_its_end_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record");
    assert!(Process::find(&file).is_none(), "there is none");
    let mut own = sleeper(folder.path());
    let mut adopted = Process::find(&file).unwrap();
    assert_eq!(
        (adopted.pid(), adopted.serves()),
        (own.pid(), Some("dreams"))
    );
    assert!(own.is_running() && adopted.is_running());
    adopted.note(None).unwrap();
    assert_eq!(Process::find(&file).unwrap().serves(), None);
    adopted.signal(Signal::KILL).unwrap();
    adopted.ended().await;
    assert!(
        Process::find(&file).is_none(),
        "it has ended, and nobody has waited for it"
    );
    let leader = |dead: Option<Orphans>| dead.map(|orphans| orphans.leader);
    assert_eq!(leader(dead(&file)), Some(own.pid()));
    assert!(own.ended().await.contains("signal: 9"));
    assert!(Process::find(&file).is_none() && leader(dead(&file)) == Some(own.pid()));
    own.signal(Signal::KILL).unwrap();
    adopted.signal(Signal::KILL).unwrap();
    assert!(!own.is_running() && !adopted.is_running());
}

#[test]
fn who_listens_on_a_port_is_known() {
    let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listening.local_addr().unwrap().port();
    let this = rustix::process::getpid();
    assert!(listens(this, port));
    let expected = format!("(process {})", std::process::id());
    assert!(listener(port).is_some_and(|listener| listener.contains(&expected)));
    drop(listening);
    assert!(!listens(this, port) && listener(port).is_none());
}

#[tokio::test]
async fn another_process_of_the_same_id_is_not_taken_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let own = sleeper(folder.path());
    let file = folder.path().join("record");
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
            Process::find(&file).is_none() && dead(&file).is_none(),
            "{record:?}"
        );
    }
    fs::write(&file, "no record").unwrap();
    assert!(Process::find(&file).is_none());
}

#[tokio::test]
async fn a_program_is_its_file_and_not_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let own = sleeper(folder.path());
    let program = fs::read_link(format!("/proc/{}/exe", own.record.pid)).unwrap();
    let copy = folder.path().join("sleep");
    fs::copy(&program, &copy).unwrap();
    assert!(own.is_of(&program) && !own.is_of(&copy));
}

/// Whatever the file says: who it is not is not found, so that no signal is sent.
#[tokio::test]
async fn who_runs_something_else_or_was_not_told_of_the_folder_is_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let own = sleeper(folder.path());
    let file = folder.path().join("record");
    let program = own
        .record
        .program
        .map(|Program(device, inode)| Program(device, inode + 1));
    Record {
        program,
        ..own.record
    }
    .write(&file)
    .unwrap();
    assert!(Process::find(&file).is_none(), "it runs another program");

    let beside = format!("{}0", folder.path().display());
    let mut innocent = Command::new("sleep");
    innocent.arg("600");
    for command in [innocent, tail(Path::new(&beside))] {
        let innocent = Process::start(command, &file, None).unwrap();
        assert!(
            innocent.is_running() && Process::find(&file).is_none(),
            "it was not told of the folder"
        );
    }
}

#[tokio::test]
async fn a_symlink_is_no_record() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let _own = sleeper(folder.path());
    let file = folder.path().join("record");
    fs::rename(&file, elsewhere.path().join("record")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("record"), &file).unwrap();
    assert!(Process::find(&file).is_none() && dead(&file).is_none());
}

#[tokio::test]
async fn of_a_group_only_those_end_that_run_the_same_program() {
    let folder = tempfile::tempdir().unwrap();
    let mut leader = tail(folder.path());
    leader.process_group(0);
    let mut leader = Process::start(leader, &folder.path().join("record"), None).unwrap();
    let group = leader.pid().as_raw_nonzero().get();
    let member = |program: &str, argument: &Path| {
        let mut command = Command::new(program);
        command
            .arg(argument)
            .process_group(group)
            .stdout(std::process::Stdio::null());
        Process::start(command, &folder.path().join(program), None).unwrap()
    };
    let (mut worker, innocent) = (
        member("tail", Path::new("-f")),
        member("sleep", Path::new("600")),
    );
    leader.signal(Signal::KILL).unwrap();
    let orphans = leader.orphans();
    leader.ended().await;
    assert!(orphans.any());
    orphans.end();
    assert!(worker.ended().await.contains("signal: 9"));
    assert!(innocent.is_running() && !orphans.any());
}

#[test]
fn a_path_is_named_by_itself_and_by_what_is_below_it() {
    for text in [
        "/run/a",
        "-c /run/a/nginx.conf",
        "nginx: master process nginx -p /run/a -c x",
    ] {
        assert!(names(text, "/run/a"), "{text}");
    }
    for text in ["/run/ab", "/run", "", "/run/a.b"] {
        assert!(!names(text, "/run/a"), "{text}");
    }
}
