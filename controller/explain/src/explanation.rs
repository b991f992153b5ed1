//! An explanation as data.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use sluice_ir::{
    CanaryRules, ClientCertificates, Expression, Filter, HeaderVariant, HttpRoute, PathMatch,
    RouteId, ServerName,
};

/// Explanation of a request.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// `http` or `https`: the listener that takes it.
    pub listener: String,
    /// Name of the server that answers; `None`: TLS is passed through.
    pub server: Option<String>,
    /// Certificate that clients see; `None`: the default certificate, or plain http.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Verification of client certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificates: Option<ClientCertificates>,
    /// Its path means nothing, and no route is looked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_no_path: bool,
    /// The route that takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    /// Headers of the ConfigMap, for all hosts.
    #[serde(skip_serializing_if = "GlobalHeaders::is_empty")]
    pub global_headers: GlobalHeaders,
    /// The snippet of the operator that answers; `None`: the Ingress decides, or nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<OperatorSnippet>,
    /// The response, or the backends.
    pub outcome: Outcome,
}

/// An outcome, and the snippet of the operator that it is of.
pub(crate) type Answered = (Outcome, Option<OperatorSnippet>);

/// Snippet of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum OperatorSnippet {
    /// For all servers.
    #[serde(rename = "server-snippet")]
    Servers,
    /// For all locations.
    #[serde(rename = "location-snippet")]
    Locations,
}

impl OperatorSnippet {
    /// The key of the ConfigMap that it is.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            OperatorSnippet::Servers => "server-snippet",
            OperatorSnippet::Locations => "location-snippet",
        }
    }

    /// That of a route that no Ingress has asked for.
    pub(crate) fn of_route(route: &HttpRoute) -> Option<Self> {
        route.of_operator.then_some(OperatorSnippet::Servers)
    }
}

impl Explanation {
    /// Name of the server that answers.
    #[must_use]
    pub fn server_name(&self) -> Option<ServerName> {
        match self.server.as_deref()? {
            "_" => Some(ServerName::CatchAll),
            name => ServerName::parse(name).ok(),
        }
    }

    pub(crate) fn of(outcome: Outcome) -> Explanation {
        Explanation {
            listener: String::new(),
            answered_by: None,
            global_headers: GlobalHeaders::default(),
            server: None,
            certificate: None,
            client_certificates: None,
            has_no_path: false,
            route: None,
            outcome,
        }
    }
}

/// Headers that the ConfigMap changes for all hosts, before those of the route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GlobalHeaders {
    /// The `Host` that pods see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Expression>,
    /// Modifications.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
}

impl GlobalHeaders {
    fn is_empty(&self) -> bool {
        *self == GlobalHeaders::default()
    }
}

/// A route.
#[derive(Clone, Debug, Serialize)]
pub struct Route {
    /// Its id.
    pub id: RouteId,
    /// It is a `location` of the operator's snippet, and no path of an Ingress.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_operator: bool,
    /// The path that it takes.
    pub path: PathMatch,
    /// Its policies that are not the defaults, by name.
    pub policies: Map<String, Value>,
    /// Modifications of requests and responses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<Filter>,
    /// Modifications of responses in their place, for some requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub header_variants: Vec<HeaderVariant>,
}

impl Route {
    /// A route, and its policies by name.
    #[must_use]
    pub fn of(route: &HttpRoute) -> Route {
        let policies = match serde_json::to_value(&*route.policy) {
            Ok(Value::Object(policies)) => policies,
            Ok(_) | Err(_) => Map::new(),
        };
        Route {
            id: route.id.clone(),
            of_operator: route.of_operator,
            path: route.matches.path.clone(),
            policies,
            filters: route.filters.clone(),
            header_variants: route.header_variants.clone(),
        }
    }
}

/// The end of a request's way.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The data plane answers with this status.
    Respond {
        /// The status.
        status: u16,
    },
    /// The data plane answers 503: access control cannot be enforced.
    Denied,
    /// The data plane answers that it is elsewhere.
    Redirect {
        /// The status.
        status: u16,
        /// `Location`.
        location: String,
    },
    /// A pod gets it.
    Forward {
        /// Path and query that it sees.
        path: String,
        /// By weight.
        backends: Vec<Backend>,
        /// In the order in which they are asked.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        canaries: Vec<Share>,
        /// The one that gets it; `None`: there are no canaries.
        #[serde(skip_serializing_if = "Option::is_none")]
        selection: Option<Selection>,
    },
    /// A pod ends TLS itself.
    Passthrough {
        /// The backend.
        backend: Backend,
    },
}

/// A backend.
#[derive(Clone, Debug, Serialize)]
pub struct Backend {
    /// Its id.
    pub id: String,
    /// Its share.
    pub weight: u32,
    /// Balancing and endpoints; `None` cannot be: translation makes every backend that a route names.
    #[serde(flatten)]
    pub settings: Option<Arc<sluice_ir::Backend>>,
}

/// A canary.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    /// Its backend.
    #[serde(flatten)]
    pub backend: Backend,
    /// Rules that select it.
    pub rules: CanaryRules,
}

/// Backend of a request to a route with canaries.
#[derive(Clone, Debug, Serialize)]
pub struct Selection {
    /// By the rules.
    #[serde(flatten)]
    pub choice: Choice,
    /// A cookie of the request that may name a session, which stays on its backend whatever the rules say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_cookie: Option<String>,
    /// False: the main backend has no endpoints, so all requests get 503.
    pub is_served: bool,
}

/// Result of the rules of canaries.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// A canary.
    Canary {
        /// Its id.
        backend: String,
        /// The rule that selects it, with what the request says.
        rule: String,
    },
    /// By chance.
    Weight {
        /// Canaries, then the main backend.
        parts: Vec<WeightedShare>,
    },
    /// The main backend.
    Main {
        /// Its id.
        backend: String,
        /// Why no canary gets it.
        canaries: Vec<NotChosen>,
    },
}

/// A part of the requests.
#[derive(Clone, Debug, Serialize)]
pub struct WeightedShare {
    /// Id of the backend.
    pub backend: String,
    /// False: the main backend.
    pub is_canary: bool,
    /// Its part.
    pub percent: f64,
}

/// A canary that does not get a request.
#[derive(Clone, Debug, Serialize)]
pub struct NotChosen {
    /// Id of the backend.
    pub backend: String,
    /// Why it does not.
    pub reason: String,
}
