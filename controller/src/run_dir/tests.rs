//! Folders that somebody else has prepared. They are refused with the name of what is wrong, and nothing in them is touched.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;

use rustix::process::geteuid;
use tempfile::{TempDir, tempdir};

use super::*;

/// Whoever is nobody else's.
const NOBODY: u32 = 65_534;

/// Whatever a data plane or its successor would believe.
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

fn refused(path: &Path, culprit: &Path) {
    let error = format!("{:#}", RunDir::take(Some(path)).err().unwrap());
    assert!(error.starts_with("--run-dir "), "{error}");
    assert!(error.contains(&culprit.display().to_string()), "{error}");
    assert!(
        error.contains("choose another") || error.contains("give the folder"),
        "{error}"
    );
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A folder with an `nginx` in it, as a run before would have left it.
fn folder() -> TempDir {
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("nginx")).unwrap();
    folder
}

#[test]
fn a_folder_is_one_controllers_and_who_comes_too_late_hears_whose() {
    let folder = tempdir().unwrap();
    let first = RunDir::take(Some(folder.path())).unwrap();
    let error = format!("{:#}", RunDir::take(Some(folder.path())).err().unwrap());
    let expected = format!("process {} uses this folder", std::process::id());
    assert!(
        error.starts_with("--run-dir ") && error.contains(&expected),
        "{error}"
    );
    drop(first);
    RunDir::take(Some(folder.path())).unwrap();
}

#[test]
fn a_folder_that_is_made_is_nobody_elses() {
    let above = tempdir().unwrap();
    let path = above.path().join("not/there");
    assert_eq!(RunDir::take(Some(&path)).unwrap().path, path);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o700
    );
}

#[test]
fn no_name_of_ours_is_followed_through_a_symlink() {
    for name in NAMES {
        let (folder, elsewhere) = (folder(), tempdir().unwrap());
        let (entry, victim) = (folder.path().join(name), elsewhere.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &entry).unwrap();
        refused(folder.path(), &entry);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{name}");
        fs::remove_file(&entry).unwrap();
        fs::hard_link(&victim, &entry).unwrap();
        refused(folder.path(), &entry);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{name}");
    }
}

#[test]
fn nothing_of_somebody_else_is_believed() {
    if !geteuid().is_root() {
        return;
    }
    for name in NAMES {
        let folder = folder();
        let entry = folder.path().join(name);
        let socket = name
            .ends_with(".sock")
            .then(|| UnixListener::bind(&entry).unwrap());
        if socket.is_none() {
            fs::write(&entry, "{}").unwrap();
        }
        chown(&entry, Some(NOBODY), None).unwrap();
        refused(folder.path(), &entry);
    }
    let folder = folder();
    let nginx = folder.path().join("nginx");
    chown(&nginx, Some(NOBODY), None).unwrap();
    refused(folder.path(), &nginx);
    chown(folder.path(), Some(NOBODY), None).unwrap();
    refused(folder.path(), folder.path());
    refused(&folder.path().join("below"), folder.path());
}

#[test]
fn where_others_may_write_nothing_is_kept() {
    for mode in [0o777, 0o770, 0o702] {
        let folder = tempdir().unwrap();
        set_mode(folder.path(), mode);
        refused(folder.path(), folder.path());
        refused(&folder.path().join("below"), folder.path());
        set_mode(folder.path(), 0o700);
        RunDir::take(Some(folder.path())).unwrap();
    }
}

#[test]
fn in_everybodys_folder_there_is_one_of_our_own() {
    let shared = tempdir().unwrap();
    set_mode(shared.path(), 0o1777);
    let own = shared.path().join(format!("sluice-{}", geteuid().as_raw()));
    assert_eq!(RunDir::take(Some(shared.path())).unwrap().path, own);
    assert_eq!(
        fs::metadata(&own).unwrap().permissions().mode() & 0o7777,
        0o700
    );
    // Somebody else was faster.
    set_mode(&own, 0o777);
    refused(shared.path(), &own);
    fs::remove_dir_all(&own).unwrap();
    symlink(tempdir().unwrap().path(), &own).unwrap();
    refused(shared.path(), &own);
}

#[test]
fn a_symlink_is_no_run_folder() {
    let (above, folder) = (tempdir().unwrap(), tempdir().unwrap());
    let link = above.path().join("link");
    symlink(folder.path(), &link).unwrap();
    refused(&link, &link);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
