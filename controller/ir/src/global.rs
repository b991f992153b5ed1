//! Settings of all connections and requests.

use serde::Serialize;

use crate::{
    AccessLog, Buffering, Cidr, Compression, Expression, Header, HeaderName, ServerTls, Tracing,
    Waf, is_default,
};

/// Number of times that one request may come back. A gateway behind us that leads here again has a reason; two are rare. On
/// the way back a request is not retried, but mirrored, and its errors go to an error service: at most 3 to the power of this.
pub const MAX_LOOPS: u32 = 4;
/// A name for a Sluice that was given none.
const CDN_ID: &str = "sluice";
const KEPT_BODY: u64 = 8 << 20;
/// Headers about clients that data planes write themselves, and that conditions may compare as clients have sent them
/// ([`GlobalConfig::compares_sent_headers`]).
pub const SENT_HEADERS: [&str; 4] = [
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
];

/// Settings of all connections and requests. The defaults are ingress-nginx's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GlobalConfig {
    /// `Strict-Transport-Security` of answers over https; replaces what a pod says.
    pub hsts: Option<Hsts>,
    /// Client address and trusted headers.
    pub forwarded: Forwarded,
    /// The `Host` that pods see where no route says another one.
    #[serde(skip_serializing_if = "is_default")]
    pub host: Option<Expression>,
    /// Set in requests to pods.
    #[serde(skip_serializing_if = "is_default")]
    pub request_headers: Vec<Header>,
    /// Set in answers to clients.
    #[serde(skip_serializing_if = "is_default")]
    pub response_headers: Vec<Header>,
    /// Taken out of the answers of pods.
    #[serde(skip_serializing_if = "is_default")]
    pub hidden_headers: Vec<HeaderName>,
    /// A request without `X-Request-ID` gets one.
    pub generate_request_id: bool,
    /// Names of headers may hold an underscore. Without this such headers are dropped.
    #[serde(skip_serializing_if = "is_default")]
    pub underscores_in_headers: bool,
    /// Conditions of routes may compare [`SENT_HEADERS`].
    #[serde(skip_serializing_if = "is_default")]
    pub compares_sent_headers: bool,
    /// Bytes of a request's body where a route says nothing else; `None` is no limit.
    #[serde(skip)]
    pub max_body_size: Option<u64>,
    /// Buffering of bodies, where a route does not set it.
    #[serde(skip)]
    pub buffering: Buffering,
    /// Clients that get 403 from every host.
    #[serde(skip_serializing_if = "is_default")]
    pub blocked: Blocked,
    /// Answers that are made shorter.
    #[serde(skip_serializing_if = "is_default")]
    pub compression: Compression,
    /// HTTP/1 and HTTP/2 of clients.
    #[serde(skip_serializing_if = "is_default")]
    pub http: Http,
    /// TLS of clients.
    #[serde(skip_serializing_if = "is_default")]
    pub tls: ServerTls,
    /// Access logs.
    #[serde(skip_serializing_if = "is_default")]
    pub log: AccessLog,
    /// Identifier of this Sluice in `CDN-Loop`; a request that has more than [`MAX_LOOPS`] of these is rejected.
    #[serde(skip)]
    pub cdn_id: String,
    /// Largest body of a request, in bytes, that stays in memory until a pod responds, so that another pod can be tried.
    #[serde(skip)]
    pub kept_body: u64,
    /// Envoy balances by itself where the result is the same.
    #[serde(skip)]
    pub native_balancing: bool,
    /// Tracing; `None` is none.
    #[serde(skip_serializing_if = "is_default")]
    pub tracing: Option<Tracing>,
    /// Web application firewall of all routes that have one; `None`: each route has its own rules only.
    #[serde(skip_serializing_if = "is_default")]
    pub waf: Option<Waf>,
}

impl Default for GlobalConfig {
    fn default() -> Self {
        GlobalConfig {
            hsts: Some(Hsts::default()),
            forwarded: Forwarded::default(),
            host: None,
            request_headers: Vec::new(),
            response_headers: Vec::new(),
            hidden_headers: vec![HeaderName::from_static("server")],
            generate_request_id: true,
            underscores_in_headers: false,
            compares_sent_headers: false,
            max_body_size: Some(1 << 20),
            buffering: Buffering::default(),
            blocked: Blocked::default(),
            compression: Compression::default(),
            http: Http::default(),
            tls: ServerTls::default(),
            log: AccessLog::default(),
            cdn_id: CDN_ID.to_owned(),
            kept_body: KEPT_BODY,
            native_balancing: true,
            tracing: None,
            waf: None,
        }
    }
}

impl GlobalConfig {
    /// Equals the default, but for what is a matter of the process.
    pub(crate) fn is_default(&self) -> bool {
        *self
            == GlobalConfig {
                cdn_id: self.cdn_id.clone(),
                kept_body: self.kept_body,
                native_balancing: self.native_balancing,
                ..GlobalConfig::default()
            }
    }
}

/// Clients that get 403 from every host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Blocked {
    /// By address.
    #[serde(skip_serializing_if = "is_default")]
    pub addresses: Vec<Cidr>,
    /// By `User-Agent`.
    #[serde(skip_serializing_if = "is_default")]
    pub user_agents: Vec<TextMatch>,
    /// By `Referer`.
    #[serde(skip_serializing_if = "is_default")]
    pub referers: Vec<TextMatch>,
}

/// Texts that are alike: nginx's `map`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextMatch {
    /// This one, whatever case its letters have.
    ExactIgnoreCase(String),
    /// Those in which this pattern is found.
    Regex(String),
    /// The same, whatever case the letters have.
    RegexIgnoreCase(String),
}

/// `Strict-Transport-Security` (RFC 6797).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hsts {
    /// Seconds that browsers keep to HTTPS.
    pub max_age: u64,
    /// Applies to subdomains, too.
    pub include_subdomains: bool,
    /// Consents to the preload lists of browsers.
    pub preload: bool,
}

impl Default for Hsts {
    fn default() -> Self {
        Hsts {
            max_age: 31_536_000,
            include_subdomains: true,
            preload: false,
        }
    }
}

impl Hsts {
    /// The value of the header.
    #[must_use]
    pub fn value(&self) -> String {
        let subdomains = if self.include_subdomains {
            "; includeSubDomains"
        } else {
            ""
        };
        let preload = if self.preload { "; preload" } else { "" };
        format!("max-age={}{subdomains}{preload}", self.max_age)
    }
}

/// Client address and trusted headers of proxies in front of Sluice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Forwarded {
    /// Connections begin with a PROXY protocol header, which has the client address.
    pub proxy_protocol: bool,
    /// Peers whose PROXY headers are believed; `None` is everybody. Envoy closes the connections of others, and to nginx their clients
    /// are they themselves.
    #[serde(skip_serializing_if = "is_default")]
    pub proxy_protocol_peers: Option<Vec<Cidr>>,
    /// Milliseconds for the PROXY header, if configured.
    #[serde(skip_serializing_if = "is_default")]
    pub proxy_timeout: Option<u32>,
    /// Request header with the client address, if it comes from one of [`Forwarded::trusted_proxies`].
    pub client_header: Option<String>,
    /// `X-Forwarded-Proto`, `-Port` and `-Host` of clients are trusted.
    pub trust_forwarded: bool,
    /// Proxies whose headers are trusted.
    #[serde(skip_serializing_if = "is_default")]
    pub trusted_proxies: Vec<Cidr>,
    /// Pods see all addresses of `X-Forwarded-For`, with the client's added, and not only the client's.
    #[serde(skip_serializing_if = "is_default")]
    pub append_forwarded_for: bool,
    /// Pods see the URI as it was, in `X-Original-URI`.
    #[serde(skip_serializing_if = "is_default")]
    pub original_uri: bool,
}

impl Forwarded {
    /// Reason why nginx passes no TLS through to pods: it takes the client's address from one place, and here it is in two, the PROXY
    /// header that `stream {}` puts in front and the client's own header.
    pub const PASSTHROUGH_BESIDE_HEADERS: &str =
        "ssl-passthrough beside use-forwarded-headers and without use-proxy-protocol";

    /// True if that is so.
    #[must_use]
    pub fn has_two_addresses(&self) -> bool {
        !self.proxy_protocol && self.client_header.is_some()
    }

    /// True if the scheme that pods are told and redirects go by may be another one than that of the connection: a load balancer that
    /// ends TLS says so, in a header or by the port of its PROXY header.
    #[must_use]
    pub fn tells_scheme(&self) -> bool {
        self.trust_forwarded || self.proxy_protocol
    }
}

/// So many, and each so large: the line of a request and every header fit into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderBuffers {
    /// How many.
    pub number: u32,
    /// In bytes.
    pub size: u64,
}

/// HTTP/1 and HTTP/2 of clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Http {
    /// HTTP/2 is offered.
    pub http2: bool,
    /// Open requests of one HTTP/2 connection.
    pub max_concurrent_streams: u32,
    /// Seconds that an idle connection stays open.
    pub keep_alive_timeout: u32,
    /// Requests of one connection.
    pub keep_alive_requests: u32,
    /// Seconds for the headers of a request.
    pub header_timeout: u32,
    /// Seconds between two reads of a request's body.
    pub body_timeout: u32,
    /// Limit of request headers, if configured.
    #[serde(skip_serializing_if = "is_default")]
    pub header_buffers: Option<HeaderBuffers>,
}

impl Default for Http {
    fn default() -> Self {
        Http {
            http2: true,
            max_concurrent_streams: 128,
            keep_alive_timeout: 75,
            keep_alive_requests: 1000,
            header_timeout: 60,
            body_timeout: 60,
            header_buffers: None,
        }
    }
}
