//! How a backend chooses, in the form that requests need it.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use sluice_filter_config as wire;

use crate::affinity::Affinity;
use crate::balance::{InvalidLoadBalance, LoadBalance};
use crate::endpoint_state::SlowStart;
use crate::hash_key::Key;
use crate::outlier::Outlier;
use crate::{Endpoints, InvalidEndpoint};

/// A backend as the wire describes it, valid, but not alive yet.
#[derive(Debug)]
pub struct CompiledBackend {
    /// The name that ingress-nginx gives it.
    pub name: String,
    /// Its endpoints.
    pub endpoints: Endpoints,
    /// How it chooses among them.
    pub policy: Policy,
}

/// How a backend chooses.
#[derive(Debug)]
pub struct Policy {
    /// The algorithm.
    pub load_balance: LoadBalance,
    /// Hash key; empty for algorithms without one.
    pub key: Key,
    /// Sessions.
    pub affinity: Option<Rc<Affinity>>,
    /// How new endpoints grow to their share.
    pub slow_start: SlowStart,
    /// When an endpoint is left out.
    pub outlier: Option<Outlier>,
    /// How many candidates a request gets.
    pub attempts: usize,
}

impl Policy {
    /// The algorithm by name, as ingress-nginx has it where it has it. Where there is affinity, it decides.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        match self.affinity.as_ref().map(|affinity| affinity.mode) {
            Some(wire::AffinityMode::Balanced) => "sticky_balanced",
            Some(wire::AffinityMode::Persistent) => "sticky_persistent",
            None => self.load_balance.algorithm.name(),
        }
    }
}

/// Why a backend cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidBackend {
    /// An endpoint that no host could connect to.
    Endpoint(InvalidEndpoint),
    /// An unknown algorithm, or wrong parameters of one.
    LoadBalance(InvalidLoadBalance),
    /// A text that would not stay within its place in `Set-Cookie`.
    Cookie {
        /// The field.
        field: &'static str,
        /// The text, or its start.
        got: String,
    },
}

impl fmt::Display for InvalidBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidBackend::Endpoint(endpoint) => endpoint.fmt(f),
            InvalidBackend::LoadBalance(load_balance) => load_balance.fmt(f),
            InvalidBackend::Cookie { field, got } => {
                write!(
                    f,
                    "cookie: {field}: expected text without `;` and control characters, got {got:?}"
                )
            }
        }
    }
}

impl CompiledBackend {
    /// Compiles the wire form, for a data plane in this zone.
    pub fn compile(backend: &wire::Backend, zone: Option<&str>) -> Result<Self, InvalidBackend> {
        if let Some(affinity) = &backend.affinity {
            check(&affinity.cookie)?;
        }
        let zone = zone.filter(|_| backend.prefer_zone);
        let endpoints =
            Endpoints::compile(&backend.endpoints, zone).map_err(InvalidBackend::Endpoint)?;
        let seconds = |seconds: std::num::NonZeroU32| Duration::from_secs(seconds.get().into());
        let parameters = &backend.load_balance.parameters;
        let policy = Policy {
            load_balance: LoadBalance::try_from(&backend.load_balance)
                .map_err(InvalidBackend::LoadBalance)?,
            key: parameters.key.as_ref().map(Key::from).unwrap_or_default(),
            affinity: backend
                .affinity
                .as_ref()
                .map(|affinity| Rc::new(affinity.into())),
            slow_start: SlowStart(backend.slow_start.map(seconds)),
            outlier: backend.outlier.map(Outlier::from),
            attempts: backend.attempts.get().into(),
        };
        Ok(CompiledBackend {
            name: backend.name.clone(),
            endpoints,
            policy,
        })
    }
}

fn check(cookie: &wire::Cookie) -> Result<(), InvalidBackend> {
    let name = Some(&cookie.name).filter(|name| name.is_empty() || name.contains(['=', ' ', ',']));
    let escapes = |text: &&String| text.contains(|c: char| c == ';' || c.is_control());
    let fields = [
        ("name", name.or(Some(&cookie.name).filter(escapes))),
        ("path", cookie.path.as_ref().filter(escapes)),
        ("domain", cookie.domain.as_ref().filter(escapes)),
    ];
    match fields
        .into_iter()
        .find_map(|(field, bad)| Some((field, bad?)))
    {
        Some((field, got)) => Err(InvalidBackend::Cookie {
            field,
            got: got.chars().take(80).collect(),
        }),
        None => Ok(()),
    }
}
