//! Headers that the ConfigMap changes for all hosts.

use sluice_ir::{Config, Filter, HeaderModification, HttpRoute};

use crate::{GlobalHeaders, Outcome};

/// Headers of one request and of its response.
pub(crate) fn of(config: &Config, route: Option<&HttpRoute>, outcome: &Outcome) -> GlobalHeaders {
    let global = &config.global;
    let filters = match outcome {
        Outcome::Passthrough { .. } => Vec::new(),
        Outcome::Forward { .. } => {
            // That of pods is hidden everywhere, unless the operator says otherwise.
            let hidden = global.hidden_headers.iter();
            let hidden = hidden.filter(|name| !name.is_alike("server"));
            let request = HeaderModification {
                set: global.request_headers.clone(),
                ..HeaderModification::default()
            };
            let response = HeaderModification {
                hide: hidden.cloned().collect(),
                set: global.response_headers.clone(),
                ..HeaderModification::default()
            };
            vec![
                Filter::RequestHeaders(request),
                Filter::ResponseHeaders(response),
            ]
        }
        Outcome::Respond { .. } | Outcome::Denied | Outcome::Redirect { .. } => {
            vec![Filter::ResponseHeaders(HeaderModification {
                set: global.response_headers.clone(),
                ..HeaderModification::default()
            })]
        }
    };
    let is_forwarded = matches!(outcome, Outcome::Forward { .. });
    let has_host = route.is_some_and(|route| route.policy.host.is_some());
    let host = global.host.as_ref();
    let host = host.filter(|_| is_forwarded && !has_host);
    let changes = |filter: &Filter| {
        let (Filter::RequestHeaders(headers) | Filter::ResponseHeaders(headers)) = filter;
        *headers != HeaderModification::default()
    };
    GlobalHeaders {
        host: host.cloned(),
        filters: filters.into_iter().filter(changes).collect(),
    }
}
