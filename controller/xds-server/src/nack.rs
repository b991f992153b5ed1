//! Resources that a client refused.

use std::collections::BTreeMap;

use sluice_xds::is_probe;
use sluice_xds::{Name, ResourceType};
use sluice_xds_delta::{Cache, Version, shortened};

/// One resource that a client refused, and has not accepted since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nack {
    /// Its type.
    pub kind: ResourceType,
    /// Its name.
    pub name: Name,
    /// The version that was refused.
    pub version: String,
    /// The id of the node that refused it; when several did, the one that connected last.
    pub node: String,
    /// The client's reason.
    pub message: String,
}

/// The refusals that hold, by stream: what one client refuses another one may accept, before or after. Never more than there are
/// resources and streams.
#[derive(Debug, Default)]
pub(crate) struct Nacks(BTreeMap<(ResourceType, Name), BTreeMap<u64, Nack>>);

impl Nacks {
    /// True if nobody says that so far.
    pub(crate) fn add(
        &mut self,
        stream: u64,
        (kind, name): (ResourceType, &Name),
        version: Version,
        node: &str,
        message: &str,
    ) -> bool {
        let refusal = Nack {
            kind,
            name: name.clone(),
            version: version.to_string(),
            node: node.to_owned(),
            message: shortened(message).to_owned(),
        };
        let refusals = self.0.entry((kind, name.clone())).or_default();
        let is_said = |it: &Nack| it.version == refusal.version && it.message == refusal.message;
        let is_new = !refusals.values().any(is_said);
        refusals.insert(stream, refusal);
        is_new
    }

    /// Forgets versions that are not served any more; whether there were some.
    pub(crate) fn keep_current(&mut self, cache: &Cache) -> bool {
        self.retain(|kind, name, _, refusal| {
            let stored = cache.find(kind, name);
            stored.is_some_and(|stored| stored.version.to_string() == refusal.version)
        })
    }

    /// The client of a stream accepts a resource; whether it refused it before.
    pub(crate) fn forget(&mut self, stream: u64, kind: ResourceType, name: &Name) -> bool {
        let key = (kind, name.clone());
        let Some(refusals) = self.0.get_mut(&key) else {
            return false;
        };
        let was_refused = refusals.remove(&stream).is_some();
        if refusals.is_empty() {
            self.0.remove(&key);
        }
        was_refused
    }

    /// A stream has ended; whether its client refused something.
    pub(crate) fn forget_stream(&mut self, stream: u64) -> bool {
        self.retain(|_, _, other, _| other != stream)
    }

    /// Removes all others; true if there were some.
    fn retain(&mut self, keep: impl Fn(ResourceType, &Name, u64, &Nack) -> bool) -> bool {
        let mut are_gone = false;
        self.0.retain(|(kind, name), refusals| {
            let before = refusals.len();
            refusals.retain(|stream, refusal| keep(*kind, name, *stream, refusal));
            are_gone |= refusals.len() != before;
            !refusals.is_empty()
        });
        are_gone
    }

    /// Reason of a refusal.
    pub(crate) fn message(&self, kind: ResourceType, name: &str) -> Option<&str> {
        let (_, refusal) = self.0.get(&(kind, name.into()))?.last_key_value()?;
        Some(&refusal.message)
    }

    /// NACKs of published resources, without those of probes.
    pub(crate) fn published(&self) -> Vec<Nack> {
        let last = self.0.values().filter_map(BTreeMap::last_key_value);
        let last = last.map(|(_, refusal)| refusal);
        last.filter(|refusal| !is_probe(&refusal.name))
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behaviour of a client about one resource.
    #[derive(Clone, Copy, Debug)]
    enum Said {
        Nack,
        Ack,
        Gone,
    }

    #[test]
    fn a_refusal_holds_until_the_one_who_refuses_takes_it_back() {
        const STREAMS: u64 = 2;
        const STEPS: u32 = 5;
        let choices: Vec<(u64, Said)> = (0..STREAMS)
            .flat_map(|stream| [Said::Nack, Said::Ack, Said::Gone].map(|said| (stream, said)))
            .collect();
        let name: Name = "a".into();
        let (kind, version) = (ResourceType::Route, Version::hash(b"1"));
        for sequence in 0..choices.len().pow(STEPS) {
            let (mut nacks, mut refusing) = (Nacks::default(), [false; STREAMS as usize]);
            for step in 0..STEPS {
                let (stream, said) = choices[sequence / choices.len().pow(step) % choices.len()];
                let before = refusing;
                refusing[stream as usize] = matches!(said, Said::Nack);
                let was_refused = before[stream as usize];
                match said {
                    Said::Nack => {
                        let is_new = nacks.add(stream, (kind, &name), version, "node", "no");
                        assert_eq!(is_new, !before.contains(&true));
                    }
                    Said::Ack => assert_eq!(nacks.forget(stream, kind, &name), was_refused),
                    Said::Gone => assert_eq!(nacks.forget_stream(stream), was_refused),
                }
                assert_eq!(!nacks.published().is_empty(), refusing.contains(&true));
                assert_eq!(
                    nacks.message(kind, &name).is_some(),
                    refusing.contains(&true)
                );
            }
        }
    }
}
