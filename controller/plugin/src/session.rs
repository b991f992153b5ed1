//! Sessions, from our words to the filter's.

use sluice_filter_config as wire;
use sluice_ir as ir;

pub(crate) fn affinity(affinity: &ir::Affinity) -> wire::Affinity {
    let mode = match affinity.mode {
        ir::AffinityMode::Balanced => wire::AffinityMode::Balanced,
        ir::AffinityMode::Persistent => wire::AffinityMode::Persistent,
    };
    wire::Affinity {
        mode,
        cookie: cookie(&affinity.cookie),
        change_on_failure: affinity.change_on_failure,
    }
}

fn cookie(cookie: &ir::Cookie) -> wire::Cookie {
    wire::Cookie {
        name: cookie.name.clone(),
        expires: cookie.expires,
        max_age: cookie.max_age,
        path: cookie.path.clone(),
        domain: cookie.domain.clone(),
        // Not asked for is not forbidden: over TLS it is set all the same.
        secure: cookie.secure.then_some(true),
        same_site: cookie.same_site.map(|same_site| match same_site {
            ir::SameSite::None => wire::SameSite::None,
            ir::SameSite::Lax => wire::SameSite::Lax,
            ir::SameSite::Strict => wire::SameSite::Strict,
        }),
        conditional_same_site_none: cookie.conditional_same_site_none,
    }
}
