//! What the operator's ConfigMap says and nginx could not read: it is left out alone, and named, because nginx would refuse
//! everything else with it. Where it says who may not come in, nobody may until it can be read.

use std::borrow::Cow;

use sluice_ir::{Config, Edge, Header};

use crate::blocked;
use crate::conf::word;
use crate::expression::expression;
use crate::unserved::{Part, Unserved};
use crate::{OpenSsl, Settings};

/// Curves that came with OpenSSL 3.5.
const NEW_CURVES: [&str; 1] = ["X25519MLKEM768"];
/// The version that brought them.
const WITH_NEW_CURVES: OpenSsl = OpenSsl { major: 3, minor: 5 };

/// The configuration that nginx reads. Usually that is the whole of it, and nothing is copied.
pub(crate) fn part_of<'a>(
    config: &'a Config,
    settings: &Settings,
    unserved: &mut Vec<Unserved>,
) -> Cow<'a, Config> {
    let mut edge = config.edge.clone();
    for (key, count) in blocked::unreadable(&config.edge.blocked) {
        let what = format!("{count} texts that are longer than nginx reads").into();
        unserved.push(Unserved { part: Part::Edge(key), what, closes: true });
        edge.blocked = blocked::everybody();
    }
    let mut left_out = |key, what: String| {
        unserved.push(Unserved { part: Part::Edge(key), what: what.into(), closes: false });
    };
    headers(&mut edge.request_headers, |name| left_out("proxy-set-headers", name));
    headers(&mut edge.response_headers, |name| left_out("add-headers", name));
    if let Some(types) = edge.compression.gzip.as_mut().and_then(|gzip| gzip.types.as_mut()) {
        types.retain(|name| {
            let fits = word(name).0.fits_small_bucket();
            if !fits {
                left_out("gzip-types", format!("{name}, which is longer than nginx reads"));
            }
            fits
        });
    }
    curves(&mut edge, settings, |curve| left_out("ssl-ecdh-curve", curve));
    if edge == config.edge { Cow::Borrowed(config) } else { Cow::Owned(Config { edge, ..config.clone() }) }
}

fn headers(headers: &mut Vec<Header>, mut left_out: impl FnMut(String)) {
    headers.retain(|header| {
        let fits = word(&header.name).0.fits() && expression(&header.value).quoted().0.fits();
        if !fits {
            left_out(format!("the header {}, which is longer than nginx reads", header.name));
        }
        fits
    });
}

/// Without any the data plane chooses, which is as good as the operator's choice.
fn curves(edge: &mut Edge, settings: &Settings, mut left_out: impl FnMut(String)) {
    let is_new = settings.openssl.is_some_and(|openssl| openssl >= WITH_NEW_CURVES);
    edge.tls.curves.retain(|curve| {
        let known = is_new || !NEW_CURVES.contains(&curve.as_str());
        if !known {
            left_out(format!("{curve}, which OpenSSL has from 3.5 on"));
        }
        known
    });
}
