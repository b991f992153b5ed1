//! The response of a pod, on its way to the client.

use sluice_filter_core::{Matching, Rewrites};

use crate::{ResponseHeaders, Stream};

/// Writes anew what the pod says about where it is. What Envoy answers by itself stays as it is.
pub(crate) fn rewrite(stream: &impl Stream, rewrites: &Rewrites) {
    if !stream.is_from_upstream() {
        return;
    }
    let mut matching = Matching::default();
    let headers = stream.response_headers();
    for name in Rewrites::HEADERS {
        let rewritten: Vec<_> = headers
            .values(name)
            .map(|value| rewrites.rewrite(name, value, &mut matching))
            .collect();
        if rewritten.iter().all(Option::is_none) {
            continue;
        }
        // There may be several of one name, and they keep their order.
        stream.remove_response_header(name);
        for (value, rewritten) in headers.values(name).zip(&rewritten) {
            stream.add_response_header(name, rewritten.as_deref().unwrap_or(value));
        }
    }
}
