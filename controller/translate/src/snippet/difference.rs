//! Differences from ingress-nginx in what is served of a snippet: reports name them.

use sluice_translate_engine::Severity;

/// Difference from ingress-nginx that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    /// Of `add_header` without `always`: nginx adds such a header to responses without an error only.
    AddsToErrors,
    /// Of `expires` with a time: `Cache-Control` alone says it.
    WithoutDate,
    /// Of `$proxy_add_x_forwarded_for`: pods get the client's address alone.
    WithoutChain,
    /// Of headers within `if ($request_uri ...)`: Envoy compares the target without double slashes, dot segments and what is needlessly
    /// encoded.
    OfNormalised,
    /// Of `proxy_connect_timeout` in a location of a server: pods are connected to as their path says.
    ConnectTimeout,
    /// Of buffers for headers of one server: Envoy has the same for all.
    HeaderRoom,
    /// Of timeouts of one server's clients: Envoy has the same for all.
    Connections,
    /// Of timeouts of clients in a location: data planes have those of the ConfigMap.
    ClientTimeouts,
    /// Of `limit_rate_after`: Envoy limits responses from the first byte.
    RateAfter,
    /// Of `grpc_next_upstream_timeout`: Envoy has no such time.
    RetryTime,
    /// Of `grpc_next_upstream` and the like in a server: pods are tried again as annotations of each path say.
    GrpcRetries,
    /// Of `grpc_buffer_size`: nginx has the same for all.
    GrpcBuffer,
    /// Of `rewrite` to a path with a query: requests that have one themselves get 503.
    WithoutQuery,
}

impl Difference {
    /// Difference as the report on its snippet names it.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Difference::AddsToErrors => {
                "add_header of this header without always adds it to errors, too"
            }
            Difference::WithoutDate => {
                "expires with a time sends Cache-Control alone, which takes precedence over Expires, also over that of pods (RFC 9111, 5.3)"
            }
            Difference::WithoutChain => {
                "$proxy_add_x_forwarded_for: pods get the address of the client alone; with it what the client says of \
             others, use compute-full-forwarded-for of the ConfigMap"
            }
            Difference::ConnectTimeout => {
                "proxy_connect_timeout in a location: pods are connected to as the path of the Ingress says (proxy-connect-timeout)"
            }
            Difference::HeaderRoom => {
                "Envoy has the same room for headers on all hosts: 60 KiB, or what large-client-header-buffers of the ConfigMap says (not \
             with --data-plane nginx)"
            }
            Difference::Connections => {
                "Envoy has the same timeouts and keep-alive for clients of all hosts: those of the ConfigMap (not with --data-plane nginx)"
            }
            Difference::ClientTimeouts => {
                "client_body_timeout, send_timeout and keepalive_timeout of a location: Envoy has those of the ConfigMap for clients of all paths (not with \
             --data-plane nginx)"
            }
            Difference::RateAfter => {
                "limit_rate_after: Envoy limits responses from the first byte (not with --data-plane nginx)"
            }
            Difference::RetryTime => {
                "grpc_next_upstream_timeout: Envoy tries again without a limit of time (not with --data-plane nginx)"
            }
            Difference::GrpcRetries => {
                "grpc_next_upstream and the like of a server: pods are tried again as proxy-next-upstream and \
             proxy-next-upstream-tries say"
            }
            Difference::GrpcBuffer => {
                "grpc_buffer_size: nginx has 64 KiB for all paths (not with --data-plane envoy)"
            }
            Difference::OfNormalised => {
                "headers within if ($request_uri ...) are those of the normalised target (not with --data-plane nginx)"
            }
            Difference::WithoutQuery => {
                "rewrite to a path with a query: requests with a query of their own answer 503 (not with --data-plane nginx)"
            }
        }
    }

    /// True if something that the snippet says has no effect, or a smaller one: a warning. False: all of it is there, told in another way
    /// or to more requests.
    pub(crate) fn loses(self) -> bool {
        match self {
            // What is compared means the same.
            Difference::AddsToErrors | Difference::WithoutDate | Difference::OfNormalised => false,
            Difference::WithoutChain
            | Difference::ConnectTimeout
            | Difference::HeaderRoom
            | Difference::Connections
            | Difference::ClientTimeouts
            | Difference::RateAfter
            | Difference::RetryTime
            | Difference::GrpcRetries
            | Difference::GrpcBuffer
            | Difference::WithoutQuery => true,
        }
    }

    /// Severity of the report on a snippet.
    pub(crate) fn severity(self) -> Severity {
        if self.loses() {
            Severity::Warning
        } else {
            Severity::Note
        }
    }
}
