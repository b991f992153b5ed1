//! Endpoints of an upstream in `stream {}`, in a file that the controller writes and each new connection checks.
//!
//! ```text
//!   10.0.0.1:5432 1        address and weight
//!   10.0.0.2:5432 3
//! ```
//!
//! Changes need no reload, which would close all open connections. The controller replaces the file by a rename, so it is
//! never read half written.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::rc::Rc;

/// The endpoint file of an upstream, with the state of its balancer in this process.
#[derive(Debug, Default)]
pub(crate) struct EndpointFile {
    path: PathBuf,
    version: Option<FileVersion>,
    addresses: Rc<[String]>,
    balancer: WeightedRoundRobin,
    /// Number of connections so far.
    connections: usize,
}

/// The endpoints for the tries of one connection, in order.
#[derive(Debug)]
pub(crate) struct Tries {
    addresses: Rc<[String]>,
    first: usize,
    tried: usize,
}

/// Identity of a file: changes when the file is replaced.
#[derive(Debug, PartialEq, Eq)]
struct FileVersion {
    inode: u64,
    modified: (i64, i64),
    length: u64,
}

/// nginx's smooth weighted round robin: each pick adds every weight to its current weight, takes the largest and subtracts
/// the total from it.
#[derive(Debug, Default)]
struct WeightedRoundRobin {
    /// (weight, current weight)
    endpoints: Vec<(i64, i64)>,
}

impl EndpointFile {
    /// The endpoints in the file at this path.
    pub(crate) fn new(path: PathBuf) -> Self {
        EndpointFile {
            path,
            ..EndpointFile::default()
        }
    }

    /// The endpoints for a new connection.
    ///
    /// # Errors
    ///
    /// The file cannot be read; the endpoints are those that were last read.
    pub(crate) fn tries(&mut self) -> (Tries, io::Result<()>) {
        let read = self.refresh();
        let first = self.balancer.pick();
        self.connections = self.connections.wrapping_add(1);
        (
            Tries {
                addresses: Rc::clone(&self.addresses),
                first,
                tried: 0,
            },
            read,
        )
    }

    fn refresh(&mut self) -> io::Result<()> {
        let version = FileVersion::from_metadata(&std::fs::metadata(&self.path)?);
        if self.version.as_ref() == Some(&version) {
            return Ok(());
        }
        // Version and text are of the open file, even if its name is replaced meanwhile.
        let mut file = File::open(&self.path)?;
        let (version, mut text) = (FileVersion::from_metadata(&file.metadata()?), String::new());
        file.read_to_string(&mut text)?;
        let mut endpoints: Vec<(&str, i64)> = text.lines().filter_map(parse_endpoint).collect();
        // Start at different endpoints in each process, or rare connections would all go to the first one.
        let start = self
            .connections
            .wrapping_add(std::process::id() as usize)
            .checked_rem(endpoints.len());
        endpoints.rotate_left(start.unwrap_or_default());
        self.addresses = endpoints
            .iter()
            .map(|(address, _)| (*address).to_owned())
            .collect();
        self.balancer = WeightedRoundRobin {
            endpoints: endpoints.iter().map(|(_, weight)| (*weight, 0)).collect(),
        };
        self.version = Some(version);
        Ok(())
    }
}

fn parse_endpoint(line: &str) -> Option<(&str, i64)> {
    let (address, weight) = line.split_once(' ')?;
    Some((address, weight.parse::<u16>().ok()?.into()))
}

impl Tries {
    /// Number of endpoints.
    pub(crate) fn len(&self) -> usize {
        self.addresses.len()
    }

    /// The endpoint for the next try.
    pub(crate) fn next(&mut self) -> Option<&str> {
        let left = self
            .addresses
            .len()
            .checked_sub(self.tried)
            .filter(|left| *left > 0)?;
        let index = (self.first + self.addresses.len() - left) % self.addresses.len();
        self.tried += 1;
        self.addresses.get(index).map(String::as_str)
    }
}

impl FileVersion {
    fn from_metadata(file: &Metadata) -> Self {
        FileVersion {
            inode: file.ino(),
            modified: (file.mtime(), file.mtime_nsec()),
            length: file.len(),
        }
    }
}

impl WeightedRoundRobin {
    fn pick(&mut self) -> usize {
        let total: i64 = self.endpoints.iter().map(|(weight, _)| weight).sum();
        self.endpoints
            .iter_mut()
            .for_each(|(weight, current)| *current += *weight);
        // The first of the largest.
        let best = self
            .endpoints
            .iter_mut()
            .enumerate()
            .rev()
            .max_by_key(|(_, (_, current))| *current);
        best.map_or(0, |(index, (_, current))| {
            *current -= total;
            index
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firsts(file: &mut EndpointFile, times: usize) -> Vec<String> {
        (0..times)
            .filter_map(|_| file.tries().0.next().map(str::to_owned))
            .collect()
    }

    fn counted(file: &mut EndpointFile, times: usize) -> Vec<(String, usize)> {
        let mut all = std::collections::BTreeMap::new();
        firsts(file, times)
            .into_iter()
            .for_each(|first| *all.entry(first).or_default() += 1);
        all.into_iter().collect()
    }

    fn counts(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
        expected
            .iter()
            .map(|(address, times)| ((*address).to_owned(), *times))
            .collect()
    }

    #[test]
    fn weights_are_respected_and_spread() {
        let mut balancer = WeightedRoundRobin {
            endpoints: vec![(5, 0), (1, 0), (1, 0)],
        };
        let order: Vec<usize> = (0..7).map(|_| balancer.pick()).collect();
        assert_eq!(order, [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn connection_tries_each_endpoint_once() {
        let mut tries = Tries {
            addresses: ["a", "b", "c"].map(str::to_owned).into(),
            first: 2,
            tried: 0,
        };
        let mut tried = Vec::new();
        while let Some(address) = tries.next() {
            tried.push(address.to_owned());
        }
        assert_eq!(tried, ["c", "a", "b"]);
    }

    #[test]
    fn replaced_file_applies_to_the_next_connection_and_missing_file_changes_nothing() {
        let folder = std::env::temp_dir().join(format!("sluice-endpoints-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (file, staged) = (folder.join("endpoints"), folder.join("staged"));
        let write = |text: &str| {
            std::fs::write(&staged, text).unwrap();
            std::fs::rename(&staged, &file).unwrap();
        };
        write("10.0.0.1:1 1\n10.0.0.2:1 3\nnonsense\n");
        let mut endpoints = EndpointFile::new(file.clone());
        assert_eq!(
            counted(&mut endpoints, 8),
            counts(&[("10.0.0.1:1", 2), ("10.0.0.2:1", 6)])
        );
        write("[::1]:2 1\n");
        assert_eq!(counted(&mut endpoints, 2), counts(&[("[::1]:2", 2)]));
        std::fs::remove_dir_all(&folder).unwrap();
        let (mut tries, read) = endpoints.tries();
        assert_eq!((tries.next(), read.is_err()), (Some("[::1]:2"), true));
        assert_eq!(EndpointFile::new(file).tries().0.len(), 0);
    }
}
