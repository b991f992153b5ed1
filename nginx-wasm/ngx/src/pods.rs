//! The pods that connections without HTTP go to: a file of the controller's, looked at when a connection comes.
//!
//! ```text
//!   10.0.0.1:5432 1        address and share
//!   10.0.0.2:5432 3
//! ```
//!
//! So another pod needs no reload, which would cost all connections that are open. The file is replaced by a rename:
//! nobody sees a half of it.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::rc::Rc;

/// The pods of one upstream, and whose turn it is in this process.
#[derive(Debug, Default)]
pub(crate) struct Pods {
    file: PathBuf,
    seen: Option<Stamp>,
    addresses: Rc<[String]>,
    turns: Turns,
    /// Connections so far.
    taken: usize,
}

/// The pods of one connection, in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct Row {
    addresses: Rc<[String]>,
    first: usize,
    tried: usize,
}

/// Identity of a file: differs when the file is replaced.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    modified: (i64, i64),
    length: u64,
}

/// Smooth weighted round robin, as nginx has it: a share is saved up until it is the largest, and spent then.
#[derive(Debug, Default)]
struct Turns {
    /// Share and savings.
    all: Vec<(i64, i64)>,
}

impl Pods {
    /// The pods in this file.
    pub(crate) fn of(file: PathBuf) -> Self {
        Pods {
            file,
            ..Pods::default()
        }
    }

    /// Those for a new connection.
    ///
    /// # Errors
    ///
    /// The file cannot be read. What was read last still counts.
    pub(crate) fn row(&mut self) -> (Row, io::Result<()>) {
        let read = self.refresh();
        let first = self.turns.next();
        self.taken = self.taken.wrapping_add(1);
        (
            Row {
                addresses: Rc::clone(&self.addresses),
                first,
                tried: 0,
            },
            read,
        )
    }

    fn refresh(&mut self) -> io::Result<()> {
        if self.seen.as_ref() == Some(&Stamp::of(&std::fs::metadata(&self.file)?)) {
            return Ok(());
        }
        // From now on it is about one file, whatever becomes of its name.
        let mut file = File::open(&self.file)?;
        let (stamp, mut text) = (Stamp::of(&file.metadata()?), String::new());
        file.read_to_string(&mut text)?;
        let mut pods: Vec<(&str, i64)> = text.lines().filter_map(pod).collect();
        // Processes that all began with the first pod would send it most of what comes rarely.
        let start = self
            .taken
            .wrapping_add(std::process::id() as usize)
            .checked_rem(pods.len());
        pods.rotate_left(start.unwrap_or_default());
        self.addresses = pods
            .iter()
            .map(|(address, _)| (*address).to_owned())
            .collect();
        self.turns = Turns {
            all: pods.iter().map(|(_, share)| (*share, 0)).collect(),
        };
        self.seen = Some(stamp);
        Ok(())
    }
}

fn pod(line: &str) -> Option<(&str, i64)> {
    let (address, share) = line.split_once(' ')?;
    Some((address, share.parse::<u16>().ok()?.into()))
}

impl Row {
    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.addresses.len()
    }

    /// The next one to try.
    pub(crate) fn next(&mut self) -> Option<&str> {
        let left = self
            .addresses
            .len()
            .checked_sub(self.tried)
            .filter(|left| *left > 0)?;
        let place = (self.first + self.addresses.len() - left) % self.addresses.len();
        self.tried += 1;
        self.addresses.get(place).map(String::as_str)
    }
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Stamp {
            inode: file.ino(),
            modified: (file.mtime(), file.mtime_nsec()),
            length: file.len(),
        }
    }
}

impl Turns {
    fn next(&mut self) -> usize {
        let total: i64 = self.all.iter().map(|(share, _)| share).sum();
        self.all
            .iter_mut()
            .for_each(|(share, saved)| *saved += *share);
        // The first of the largest.
        let best = self
            .all
            .iter_mut()
            .enumerate()
            .rev()
            .max_by_key(|(_, (_, saved))| *saved);
        best.map_or(0, |(place, (_, saved))| {
            *saved -= total;
            place
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firsts(pods: &mut Pods, times: usize) -> Vec<String> {
        (0..times)
            .filter_map(|_| pods.row().0.next().map(str::to_owned))
            .collect()
    }

    fn counted(pods: &mut Pods, times: usize) -> Vec<(String, usize)> {
        let mut all = std::collections::BTreeMap::new();
        firsts(pods, times)
            .into_iter()
            .for_each(|first| *all.entry(first).or_default() += 1);
        all.into_iter().collect()
    }

    fn count(of: &[(&str, usize)]) -> Vec<(String, usize)> {
        of.iter()
            .map(|(address, times)| ((*address).to_owned(), *times))
            .collect()
    }

    #[test]
    fn weights_are_respected_and_spread() {
        let mut turns = Turns {
            all: vec![(5, 0), (1, 0), (1, 0)],
        };
        let order: Vec<usize> = (0..7).map(|_| turns.next()).collect();
        assert_eq!(order, [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn connection_tries_each_endpoint_once() {
        let mut row = Row {
            addresses: ["a", "b", "c"].map(str::to_owned).into(),
            first: 2,
            tried: 0,
        };
        let mut tried = Vec::new();
        while let Some(address) = row.next() {
            tried.push(address.to_owned());
        }
        assert_eq!(tried, ["c", "a", "b"]);
    }

    #[test]
    fn replaced_file_applies_to_the_next_connection_and_missing_file_changes_nothing() {
        let folder = std::env::temp_dir().join(format!("sluice-pods-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, staged) = (folder.join("pods"), folder.join("staged"));
        let write = |text: &str| {
            std::fs::write(&staged, text).unwrap();
            std::fs::rename(&staged, &file).unwrap();
        };
        write("10.0.0.1:1 1\n10.0.0.2:1 3\nnonsense\n");
        let mut pods = Pods::of(file.clone());
        assert_eq!(
            counted(&mut pods, 8),
            count(&[("10.0.0.1:1", 2), ("10.0.0.2:1", 6)])
        );
        write("[::1]:2 1\n");
        assert_eq!(counted(&mut pods, 2), count(&[("[::1]:2", 2)]));
        std::fs::remove_dir_all(&folder).unwrap();
        let (mut row, read) = pods.row();
        assert_eq!((row.next(), read.is_err()), (Some("[::1]:2"), true));
        assert_eq!(Pods::of(file).row().0.len(), 0);
    }
}
