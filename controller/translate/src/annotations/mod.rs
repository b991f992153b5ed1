//! What people add to an Ingress: one file for each group, with its rows of the catalogue and the code that reads it.
//!
//! Nothing is ever ignored in silence. An annotation that guards access and cannot be honoured closes the locations of
//! its Ingress; any other one that cannot be honoured is reported by name.
//!
//! To support an annotation: say so in its row, read it in its group, and put the value into a field of the IR.

mod access;
mod affinity;
mod auth_basic;
mod auth_external;
mod auth_tls;
mod backend;
mod body;
mod canary;
mod catalogue;
mod cors;
mod errors;
mod hash;
mod headers;
mod limits;
mod load_balance;
mod mirror;
mod observe;
mod proxy;
mod proxy_ssl;
mod redirect;
mod rewrite;
mod server;
mod snippets;
mod tls_redirect;
pub(crate) mod value;
mod view;
mod waf;

use std::sync::Arc;

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{Policy, Redirect, ServerName, Transport};

use crate::Options;
use crate::global::Globals;
use crate::report::Reporter;
use view::{Rules, View};

pub(crate) use catalogue::alike;
pub use catalogue::{Annotation, GROUPS, Group, Risk, Role, Scope, Support, Value};
pub(crate) use proxy::{conditions, tries};
pub(crate) use rewrite::Paths;
pub(crate) use tls_redirect::ToHttps;
pub(crate) use value::{Expected, Parsed};

/// What the annotations of one Ingress come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Annotations {
    /// Nothing of the Ingress is served: the operator does not want to see what is in it.
    pub(crate) refused: bool,
    /// Something that guards access cannot be honoured: nothing gets through.
    pub(crate) denied: bool,
    /// The paths mean something that cannot be expressed: they are not served.
    pub(crate) paths_unreadable: bool,
    /// What its paths mean.
    pub(crate) paths: Paths,
    /// Where all requests are sent, whatever the backend.
    pub(crate) redirect: Option<Redirect>,
    /// When plain http is redirected.
    pub(crate) to_https: ToHttps,
    /// Of its hosts.
    pub(crate) host: Host,
    /// What holds for every location of the Ingress.
    pub(crate) policy: Arc<Policy>,
    /// How its pods are spoken to.
    pub(crate) transport: Transport,
}

/// What the annotations of an Ingress say about its hosts as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) aliases: Vec<ServerName>,
    pub(crate) app_root: Option<String>,
    /// Whether `www.` and the name without it lead to the host.
    pub(crate) from_to_www: bool,
}

impl Annotations {
    pub(crate) fn of(
        ingress: &Ingress,
        globals: &Globals,
        options: &Options,
        reporter: Reporter<'_>,
    ) -> Self {
        let rules = Rules {
            prefix: &options.annotations_prefix,
            risk: globals.risk,
            blocked: &globals.blocked_words,
        };
        Annotations::gather(&mut View::of(ingress, &rules, reporter), globals)
    }

    fn gather(view: &mut View<'_, '_>, globals: &Globals) -> Self {
        let host = Host {
            aliases: server::aliases(view),
            app_root: rewrite::app_root(view),
            from_to_www: redirect::from_to_www(view),
        };
        let paths = rewrite::paths(view);
        let redirect = redirect::redirect(view, globals);
        let to_https = tls_redirect::to_https(view, globals);
        let transport = Transport { connect_timeout: proxy::connect_timeout(view, globals) };
        let policy = policy(view, globals);
        Annotations {
            refused: view.blocked,
            denied: view.denied,
            paths_unreadable: view.paths_unreadable,
            paths,
            redirect,
            to_https,
            host,
            policy: Arc::new(policy),
            transport,
        }
    }
}

fn policy(view: &mut View<'_, '_>, globals: &Globals) -> Policy {
    Policy {
        timeouts: proxy::timeouts(view, globals),
        retries: proxy::retries(view, globals),
        forwarded_prefix: rewrite::forwarded_prefix(view),
    }
}

#[cfg(test)]
mod tests;
