//! Persistent sessions: the cookie names the endpoint. A session moves only when its endpoint is gone.

use crate::balance::ring::hash;
use crate::balance::{Candidates, PickContext, draw};
use crate::{EndpointIdx, Endpoints, Rng};

use super::{Hex, SessionKey, Sessions, endpoint_key};

/// The endpoints of a backend by their keys.
#[derive(Debug, Default)]
pub struct Persistent {
    by_key: Vec<(Hex, EndpointIdx)>,
}

impl Persistent {
    /// The keys of these endpoints, salted with the name of their backend.
    #[must_use]
    pub fn new(backend: &str, endpoints: &Endpoints) -> Self {
        let keyed = |idx| Some((endpoint_key(backend, endpoints.address(idx)?), idx));
        let mut by_key: Vec<(Hex, EndpointIdx)> = (0..endpoints.len()).filter_map(keyed).collect();
        by_key.sort_unstable();
        Persistent { by_key }
    }
}

impl Sessions for Persistent {
    fn locate(&self, _field: &PickContext<'_>, key: &[u8]) -> Option<EndpointIdx> {
        let found = self
            .by_key
            .binary_search_by(|(known, _)| known.as_slice().cmp(key))
            .ok()?;
        self.by_key.get(found).map(|(_, idx)| *idx)
    }

    fn fallback(&self, context: &PickContext<'_>, key: &[u8]) -> Option<EndpointIdx> {
        let ready = context.eligible.ready();
        ready
            .get((hash(key) as usize).checked_rem(ready.len())?)
            .copied()
    }

    /// The key of an endpoint is known without drawing it.
    fn begin(
        &self,
        context: &PickContext<'_>,
        tried: &Candidates,
        rng: &mut impl Rng,
    ) -> Option<(EndpointIdx, Option<SessionKey>)> {
        draw(context, tried, None, rng).map(|idx| (idx, None))
    }
}
