//! ModSecurity.

use sluice_ir::{Expression, Waf};
use sluice_syntax::value::Parsed;
use sluice_syntax::{expression, value};

use super::catalogue::{Group, Scope, Value, annotation};
use super::view::View;
use crate::global::Globals;
use crate::risk::Risk;
use crate::support::WAF;

pub(super) const GROUP: Group = Group {
    title: "Web application firewall",
    annotations: &[
        annotation("enable-modsecurity", Value::Bool, Risk::Low, Scope::Ingress).supported(WAF),
        annotation(
            "enable-owasp-core-rules",
            Value::Bool,
            Risk::Low,
            Scope::Ingress,
        )
        .supported(WAF),
        annotation(
            "modsecurity-transaction-id",
            Value::Text,
            Risk::High,
            Scope::Ingress,
        )
        .partly("nginx variables that Sluice supports"),
        annotation(
            "modsecurity-snippet",
            Value::Text,
            Risk::Critical,
            Scope::Ingress,
        )
        .snippet()
        .partly(
            "settings, rules and exceptions that docs/waf.md lists, with allow-snippet-annotations and \
             annotations-risk-level: Critical",
        ),
    ],
};

/// The firewall of all routes of the Ingress, without a snippet.
pub(super) fn waf(view: &mut View<'_, '_>, globals: &Globals) -> Option<Waf> {
    let all = globals.config.waf.as_ref();
    let own = view.read("enable-modsecurity", value::bool);
    let core_rules = view.flag("enable-owasp-core-rules");
    let transaction_id = view.read("modsecurity-transaction-id", transaction_id);
    let is_on = own.unwrap_or(all.is_some());
    is_on.then(|| Waf {
        recommended: all.is_none(),
        rules: Vec::new(),
        core_rules: core_rules && !all.is_some_and(|all| all.core_rules),
        transaction_id,
    })
}

fn transaction_id(text: &str) -> Parsed<Expression> {
    expression::for_headers(text)
}
