//! Load balancing among the endpoints of a backend.

use sluice_filter_core::balance::Algorithm;
use sluice_ir::LoadBalance;
use sluice_syntax::settings::upstream::algorithm;
use sluice_syntax::value;

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;

pub(super) const GROUP: Group = Group {
    title: "Balancing",
    annotations: &[
        annotation(
            "load-balance",
            Value::OneOf(Algorithm::SELECTABLE),
            Risk::Low,
            Scope::Location,
        )
        .partly("other algorithms need annotations of their own, and are reported"),
        annotation("service-upstream", Value::Bool, Risk::Low, Scope::Ingress).full(),
    ],
};

pub(super) fn load_balance(view: &mut View<'_, '_>, globals: &Globals) -> LoadBalance {
    view.read("load-balance", algorithm)
        .unwrap_or_else(|| globals.upstream.balance.load_balance.clone())
}

/// An invalid value is false, even when the ConfigMap says true.
pub(super) fn service_upstream(view: &mut View<'_, '_>, globals: &Globals) -> bool {
    match view.text("service-upstream") {
        Some(_) => view
            .read("service-upstream", value::bool)
            .unwrap_or_default(),
        None => globals.upstream.balance.service_upstream,
    }
}
