//! Directories prepared by another user are rejected with the wrong path, and nothing in them is touched.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;

use rustix::process::geteuid;
use tempfile::{TempDir, tempdir};

use super::*;

/// A user that owns nothing else.
const NOBODY: u32 = 65_534;

/// Files that a data plane or a later controller trusts.
const NAMES: [&str; 8] = [
    "lock",
    "controller.sock",
    "envoy-admin.sock",
    "envoy.json",
    "bootstrap.json",
    "default-certificate.pem",
    "nginx/nginx.json",
    "nginx/nginx.conf",
];

fn assert_rejected(path: &Path, culprit: &Path) {
    let error = format!("{:#}", RunDir::take(Some(path)).err().unwrap());
    assert!(error.starts_with("--run-dir "), "{error}");
    assert!(error.contains(&culprit.display().to_string()), "{error}");
    assert!(
        error.contains("choose another") || error.contains("give the directory"),
        "{error}"
    );
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A directory that contains `nginx`, as an earlier run leaves it.
fn directory() -> TempDir {
    let directory = tempdir().unwrap();
    fs::create_dir(directory.path().join("nginx")).unwrap();
    directory
}

#[test]
fn second_controller_gets_an_error_that_names_the_first() {
    let directory = tempdir().unwrap();
    let first = RunDir::take(Some(directory.path())).unwrap();
    let error = format!("{:#}", RunDir::take(Some(directory.path())).err().unwrap());
    let expected = format!("process {} uses this directory", std::process::id());
    assert!(
        error.starts_with("--run-dir ") && error.contains(&expected),
        "{error}"
    );
    drop(first);
    RunDir::take(Some(directory.path())).unwrap();
}

#[test]
fn created_directory_is_private() {
    let above = tempdir().unwrap();
    let path = above.path().join("not/there");
    assert_eq!(RunDir::take(Some(&path)).unwrap().path, path);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o700
    );
}

#[test]
fn symlinks_and_hard_links_in_the_run_directory_are_rejected() {
    for name in NAMES {
        let (directory, elsewhere) = (directory(), tempdir().unwrap());
        let (entry, victim) = (directory.path().join(name), elsewhere.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &entry).unwrap();
        assert_rejected(directory.path(), &entry);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{name}");
        fs::remove_file(&entry).unwrap();
        fs::hard_link(&victim, &entry).unwrap();
        assert_rejected(directory.path(), &entry);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{name}");
    }
}

#[test]
fn files_of_other_users_are_rejected() {
    if !geteuid().is_root() {
        return;
    }
    for name in NAMES {
        let directory = directory();
        let entry = directory.path().join(name);
        let socket = name
            .ends_with(".sock")
            .then(|| UnixListener::bind(&entry).unwrap());
        if socket.is_none() {
            fs::write(&entry, "{}").unwrap();
        }
        chown(&entry, Some(NOBODY), None).unwrap();
        assert_rejected(directory.path(), &entry);
    }
    let directory = directory();
    let nginx = directory.path().join("nginx");
    chown(&nginx, Some(NOBODY), None).unwrap();
    assert_rejected(directory.path(), &nginx);
    chown(directory.path(), Some(NOBODY), None).unwrap();
    assert_rejected(directory.path(), directory.path());
    assert_rejected(&directory.path().join("below"), directory.path());
}

#[test]
fn directory_writable_by_others_is_rejected() {
    for mode in [0o777, 0o770, 0o702] {
        let directory = tempdir().unwrap();
        set_mode(directory.path(), mode);
        assert_rejected(directory.path(), directory.path());
        assert_rejected(&directory.path().join("below"), directory.path());
        set_mode(directory.path(), 0o700);
        RunDir::take(Some(directory.path())).unwrap();
    }
}

#[test]
fn shared_directory_gets_a_private_subdirectory() {
    let shared = tempdir().unwrap();
    set_mode(shared.path(), 0o1777);
    let own = shared.path().join(format!("sluice-{}", geteuid().as_raw()));
    assert_eq!(RunDir::take(Some(shared.path())).unwrap().path, own);
    assert_eq!(
        fs::metadata(&own).unwrap().permissions().mode() & 0o7777,
        0o700
    );
    // Somebody else created it first.
    set_mode(&own, 0o777);
    assert_rejected(shared.path(), &own);
    fs::remove_dir_all(&own).unwrap();
    symlink(tempdir().unwrap().path(), &own).unwrap();
    assert_rejected(shared.path(), &own);
}

#[test]
fn run_directory_cannot_be_a_symlink() {
    let (above, directory) = (tempdir().unwrap(), tempdir().unwrap());
    let link = above.path().join("link");
    symlink(directory.path(), &link).unwrap();
    assert_rejected(&link, &link);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
