//! Endpoints of an upstream in `stream {}`, in a file that the controller writes and each new connection checks.
//!
//! ```text
//!   10.0.0.1:5432 1        address and weight
//!   10.0.0.2:5432 3
//!   10.0.0.9:5432 1 backup gets connections when there is no other, or all have failed
//! ```
//!
//! Changes need no reload, which would close all open connections.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use crate::replaced_file::ReplacedFile;

/// The endpoint file of an upstream, with the state of its balancer in this process.
#[derive(Debug, Default)]
pub(crate) struct EndpointFile {
    file: ReplacedFile,
    primaries: Turns,
    backups: Turns,
    /// Number of connections so far.
    connections: usize,
}

/// The endpoints for the tries of one connection, in order: primaries, then backups.
#[derive(Debug)]
pub(crate) struct Tries {
    primaries: Round,
    backups: Round,
    tried: usize,
}

/// Endpoints that take turns.
#[derive(Debug, Default)]
struct Turns {
    addresses: Rc<[String]>,
    balancer: WeightedRoundRobin,
}

/// Endpoints, each once, from one of them on.
#[derive(Debug)]
struct Round {
    addresses: Rc<[String]>,
    first: usize,
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
            file: ReplacedFile::new(path),
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
        self.connections = self.connections.wrapping_add(1);
        // Backups take turns of their own only when they are first.
        let primaries = self.primaries.next();
        let backups = match primaries.addresses.is_empty() {
            true => self.backups.next(),
            false => self.backups.from(self.connections),
        };
        let tries = Tries {
            primaries,
            backups,
            tried: 0,
        };
        (tries, read)
    }

    fn refresh(&mut self) -> io::Result<()> {
        let Some(content) = self.file.read_if_replaced()? else {
            return Ok(());
        };
        let text = String::from_utf8_lossy(&content);
        let (backups, primaries): (Vec<_>, Vec<_>) = text
            .lines()
            .filter_map(Endpoint::parse)
            .partition(|endpoint| endpoint.backup);
        // Start at different endpoints in each process, or rare connections would all go to the first one.
        let start = self.connections.wrapping_add(std::process::id() as usize);
        self.primaries = Turns::starting_at(start, primaries);
        self.backups = Turns::starting_at(start, backups);
        Ok(())
    }
}

/// A line of the file.
#[derive(Clone, Copy)]
struct Endpoint<'a> {
    address: &'a str,
    weight: i64,
    backup: bool,
}

impl<'a> Endpoint<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.split(' ');
        let (address, weight) = (words.next()?, words.next()?.parse::<u16>().ok()?.into());
        let backup = match (words.next(), words.next()) {
            (None, _) => false,
            (Some("backup"), None) => true,
            _ => return None,
        };
        Some(Endpoint {
            address,
            weight,
            backup,
        })
    }
}

impl Turns {
    fn starting_at(start: usize, mut endpoints: Vec<Endpoint<'_>>) -> Self {
        let start = start.checked_rem(endpoints.len());
        endpoints.rotate_left(start.unwrap_or_default());
        let addresses = endpoints
            .iter()
            .map(|endpoint| endpoint.address.to_owned())
            .collect();
        let weights = endpoints.iter().map(|endpoint| (endpoint.weight, 0));
        Turns {
            addresses,
            balancer: WeightedRoundRobin {
                endpoints: weights.collect(),
            },
        }
    }

    /// Once around, from the one whose turn it is.
    fn next(&mut self) -> Round {
        let first = self.balancer.pick();
        self.from(first)
    }

    /// Once around, from this one on.
    fn from(&self, first: usize) -> Round {
        Round {
            addresses: Rc::clone(&self.addresses),
            first,
        }
    }
}

impl Tries {
    /// Number of endpoints.
    pub(crate) fn len(&self) -> usize {
        self.primaries.addresses.len() + self.backups.addresses.len()
    }

    /// The endpoint for the next try.
    pub(crate) fn next(&mut self) -> Option<&str> {
        let primaries = self.primaries.addresses.len();
        let next = match self.tried.checked_sub(primaries) {
            None => self.primaries.get(self.tried),
            Some(backup) => self.backups.get(backup),
        }?;
        self.tried += 1;
        Some(next)
    }
}

impl Round {
    fn get(&self, n: usize) -> Option<&str> {
        let count = self.addresses.len();
        let index = (n < count).then(|| (self.first % count + n) % count)?;
        self.addresses.get(index).map(String::as_str)
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
    fn connection_tries_each_endpoint_once_and_backups_last() {
        let round = |addresses: &[&str], first| Round {
            addresses: addresses.iter().map(|text| (*text).to_owned()).collect(),
            first,
        };
        let mut tries = Tries {
            primaries: round(&["a", "b", "c"], 2),
            backups: round(&["y", "z"], 7),
            tried: 0,
        };
        assert_eq!(tries.len(), 5);
        let mut tried = Vec::new();
        while let Some(address) = tries.next() {
            tried.push(address.to_owned());
        }
        assert_eq!(tried, ["c", "a", "b", "z", "y"]);
    }

    #[test]
    fn lines_are_addresses_weights_and_backups() {
        let parse = |line| Endpoint::parse(line).map(|of| (of.address, of.weight, of.backup));
        assert_eq!(parse("10.0.0.1:1 3"), Some(("10.0.0.1:1", 3, false)));
        assert_eq!(parse("10.0.0.1:1 3 backup"), Some(("10.0.0.1:1", 3, true)));
        for line in [
            "",
            "10.0.0.1:1",
            "10.0.0.1:1 x",
            "10.0.0.1:1 3 down",
            "10.0.0.1:1 3 backup x",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
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
        write("[::1]:2 1\n[::1]:3 9 backup\n");
        assert_eq!(counted(&mut endpoints, 4), counts(&[("[::1]:2", 4)]));
        write("[::1]:3 1 backup\n[::1]:4 1 backup\n");
        assert_eq!(
            counted(&mut endpoints, 4),
            counts(&[("[::1]:3", 2), ("[::1]:4", 2)])
        );
        write("[::1]:2 1\n");
        assert_eq!(counted(&mut endpoints, 1), counts(&[("[::1]:2", 1)]));
        std::fs::remove_dir_all(&folder).unwrap();
        let (mut tries, read) = endpoints.tries();
        assert_eq!((tries.next(), read.is_err()), (Some("[::1]:2"), true));
        assert_eq!(EndpointFile::new(file).tries().0.len(), 0);
    }
}
