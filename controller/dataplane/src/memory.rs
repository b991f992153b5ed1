//! The memory that a data plane may have.

use std::fs;
use std::path::{Path, PathBuf};

use procfs::{Current, Meminfo};

const CGROUPS: &str = "/sys/fs/cgroup";
/// Of version 2, and of version 1 under its controller's folder.
const LIMITS: [&str; 2] = ["memory.max", "memory.limit_in_bytes"];

/// Bytes: the least of the machine's memory and the limits of this process's control groups, which are its children's, too. `None`
/// where neither can be read.
#[must_use]
pub fn limit() -> Option<u64> {
    let machine = Meminfo::current().ok().map(|memory| memory.mem_total);
    folders()
        .iter()
        .filter_map(|folder| limit_of(folder))
        .chain(machine)
        .min()
}

/// The folders of this process's control groups and of their parents. In a container its own may be the root.
fn folders() -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_memory = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let root = match controllers.as_str() {
            "" => Path::new(CGROUPS).to_owned(),
            names if names.split(',').any(|name| name == "memory") => {
                Path::new(CGROUPS).join("memory")
            }
            _ => return None,
        };
        Some((root, path))
    };
    let mut folders = Vec::new();
    for (root, path) in groups.lines().filter_map(of_memory) {
        let own = root.join(path.trim_start_matches('/'));
        folders.extend(
            own.ancestors()
                .take_while(|folder| folder.starts_with(&root))
                .map(Path::to_owned),
        );
    }
    folders
}

fn limit_of(folder: &Path) -> Option<u64> {
    let read = |name| fs::read_to_string(folder.join(name)).ok();
    LIMITS.into_iter().find_map(read)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_no_more_than_the_machine_has() {
        let machine = Meminfo::current().unwrap().mem_total;
        assert!(limit().is_some_and(|limit| (1..=machine).contains(&limit)));
    }

    #[test]
    fn a_control_group_without_a_limit_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(limit_of(folder.path()), None);
        let file = folder.path().join("memory.max");
        fs::write(&file, "max\n").unwrap();
        assert_eq!(limit_of(folder.path()), None);
        fs::write(&file, "268435456\n").unwrap();
        assert_eq!(limit_of(folder.path()), Some(256 << 20));
    }
}
