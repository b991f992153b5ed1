//! Canaries of a backend: the candidates that route groups name, together.

use sluice_ir::{BackendId, Canary, ReasonCode};

use crate::ids::{with_transport_of, without_variant};
use crate::report::Reporter;
use crate::{ObjectRef, Report, Severity};

/// More canaries of one backend than this would make a request of large cookies cost too much: each looks for its own.
pub const MAX_CANARIES: usize = 16;

/// Candidate for a canary of a port of a Service, and the field it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanaryCandidate {
    /// The port of the Service whose backend it is the second of.
    pub main: BackendId,
    /// Its rules, and the port of the Service that it leads to. Routes have it with their own transport.
    pub canary: Canary,
    /// The object that it is from.
    pub object: ObjectRef,
    /// The field of that object.
    pub field: String,
}

/// A canary on a route to this backend. As in ingress-nginx its pods are spoken to as those of the route are.
pub(crate) fn on_route(canary: &Canary, main: &BackendId, https: Option<&BackendId>) -> Canary {
    let spoken_to_as = |other| with_transport_of(&canary.backend, other);
    Canary {
        backend: spoken_to_as(main),
        https_backend: https.map(spoken_to_as),
        ..canary.clone()
    }
}

/// True if a canary of a route is this one that an object asks for.
#[must_use]
pub fn is_same_canary(canary: &Canary, asked: &Canary) -> bool {
    let Canary {
        backend,
        https_backend: _,
        rules,
        sticky,
    } = canary;
    without_variant(backend) == asked.backend && (rules, sticky) == (&asked.rules, &asked.sticky)
}

/// The canaries of one port, in the order of their Ingresses, and what is wrong with them together.
pub(crate) fn resolve_canaries<'a>(
    canary_candidates: impl Iterator<Item = &'a CanaryCandidate>,
) -> (Vec<Canary>, Vec<Report>) {
    let (mut canaries, mut reports) = (Vec::new(), Vec::new());
    for CanaryCandidate {
        canary,
        object,
        field,
        ..
    } in canary_candidates
    {
        if let Err((code, reason, consequence)) = add(&mut canaries, canary.clone()) {
            let mut reporter = Reporter::new(object.clone(), &mut reports);
            reporter.report(code, Severity::Warning, field, reason, consequence);
        }
    }
    (canaries, reports)
}

/// Adds one more canary of a backend, unless it is there: an Ingress may name it on every path of that backend. An error
/// is what is wrong and what happens instead.
fn add(
    canaries: &mut Vec<Canary>,
    canary: Canary,
) -> Result<(), (ReasonCode, String, &'static str)> {
    if canaries.contains(&canary) {
        return Ok(());
    }
    if canaries.len() == MAX_CANARIES {
        let reason = format!("expected at most {MAX_CANARIES} canaries of one backend, got more");
        return Err((ReasonCode::LimitExceeded, reason, "canary not used"));
    }
    let share =
        |canary: &Canary| f64::from(canary.rules.weight) / f64::from(canary.rules.total.max(1));
    let taken: f64 = canaries.iter().map(share).sum();
    // A little more than everything is rounding.
    let is_cut = canary.rules.weight > 0 && taken + share(&canary) > 1.0 + 1e-9;
    canaries.push(canary);
    match is_cut {
        true => Err((
            ReasonCode::Conflicted,
            "weights of all canaries of one backend add up to more than 100 %".to_owned(),
            "weight reduced to what older canaries leave",
        )),
        false => Ok(()),
    }
}
