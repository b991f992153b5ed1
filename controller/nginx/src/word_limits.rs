//! Length limits of words in the operator's ConfigMap: a setting too long for nginx is dropped alone and reported, because nginx
//! would refuse the whole configuration with it. Where it is a block list, every request is denied until it is readable.

use std::borrow::Cow;

use sluice_ir::{Config, Expression, GlobalConfig, Header};

use crate::conf::word;
use crate::expression::expression;
use crate::http::blocked;
use crate::unsupported::{Element, Unsupported};
use crate::{OpenSsl, Settings};

/// Curves that came with OpenSSL 3.5.
const NEW_CURVES: [&str; 1] = ["X25519MLKEM768"];
/// The version that brought them.
const WITH_NEW_CURVES: OpenSsl = OpenSsl { major: 3, minor: 5 };

/// The configuration that nginx reads. Usually that is the whole of it, and nothing is copied.
pub(crate) fn apply<'a>(
    config: &'a Config,
    settings: &Settings,
    unsupported: &mut Vec<Unsupported>,
) -> Cow<'a, Config> {
    let mut global = config.global.clone();
    for (key, count) in blocked::too_long(&config.global.blocked) {
        let what = format!("{count} texts that are longer than nginx reads").into();
        unsupported.push(Unsupported {
            element: Element::Setting(key),
            what,
            closes: true,
        });
        global.blocked = blocked::everybody();
    }
    let mut drop_setting = |key, what: String| {
        unsupported.push(Unsupported {
            element: Element::Setting(key),
            what: what.into(),
            closes: false,
        });
    };
    let host_fits = |host: &Expression| expression(host).quoted().0.fits();
    if !global.host.as_ref().is_none_or(host_fits) {
        drop_setting(
            "proxy-set-headers",
            "a Host that is longer than nginx reads".to_owned(),
        );
        global.host = None;
    }
    headers(&mut global.request_headers, |name| {
        drop_setting("proxy-set-headers", name);
    });
    headers(&mut global.response_headers, |name| {
        drop_setting("add-headers", name);
    });
    let gzip = global.compression.gzip.as_mut();
    if let Some(types) = gzip.and_then(|gzip| gzip.types.as_mut()) {
        gzip_types(types, |name| drop_setting("gzip-types", name));
    }
    curves(&mut global, settings, |curve| {
        drop_setting("ssl-ecdh-curve", curve);
    });
    if global == config.global {
        Cow::Borrowed(config)
    } else {
        Cow::Owned(Config {
            global,
            ..config.clone()
        })
    }
}

fn headers(headers: &mut Vec<Header>, mut drop_setting: impl FnMut(String)) {
    headers.retain(|header| {
        let fits =
            word(header.name.as_str()).0.fits() && expression(&header.value).quoted().0.fits();
        if !fits {
            drop_setting(format!(
                "the header {}, which is longer than nginx reads",
                header.name.as_str()
            ));
        }
        fits
    });
}

fn gzip_types(types: &mut Vec<String>, mut drop_setting: impl FnMut(String)) {
    types.retain(|name| {
        let fits = word(name).0.fits_small_bucket();
        if !fits {
            drop_setting(format!("{name}, which is longer than nginx reads"));
        }
        fits
    });
}

/// Without any the data plane chooses, which is as good as the operator's choice.
fn curves(global: &mut GlobalConfig, settings: &Settings, mut drop_setting: impl FnMut(String)) {
    let is_new = settings
        .openssl
        .is_some_and(|openssl| openssl >= WITH_NEW_CURVES);
    global.tls.curves.retain(|curve| {
        let known = is_new || !NEW_CURVES.contains(&curve.as_str());
        if !known {
            drop_setting(format!("{curve}, which OpenSSL has from 3.5 on"));
        }
        known
    });
}
