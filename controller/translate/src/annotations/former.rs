//! Annotations that ingress-nginx once had, by the history of its documentation and its code.

/// A former annotation.
struct Former {
    name: &'static str,
    /// True for all names that begin so.
    is_family: bool,
    /// The release that dropped it, if its notes say so.
    dropped_in: Option<&'static str>,
    /// An annotation in its place, and how it is set.
    instead: Option<&'static str>,
}

impl Former {
    const fn new(name: &'static str) -> Former {
        Former {
            name,
            is_family: false,
            dropped_in: None,
            instead: None,
        }
    }

    const fn family(name: &'static str) -> Former {
        Former {
            is_family: true,
            ..Former::new(name)
        }
    }

    const fn dropped_in(self, release: &'static str) -> Former {
        Former {
            dropped_in: Some(release),
            ..self
        }
    }

    const fn instead(self, annotation: &'static str) -> Former {
        Former {
            instead: Some(annotation),
            ..self
        }
    }

    fn is(&self, name: &str) -> bool {
        name == self.name || (self.is_family && name.starts_with(self.name))
    }
}

/// An exact name comes before its family.
const FORMER: [Former; 20] = [
    Former::new("add-base-url").dropped_in("0.22"),
    Former::new("base-url-scheme").dropped_in("0.22"),
    Former::new("enable-influxdb"),
    Former::new("enable-opentracing").instead("enable-opentelemetry"),
    Former::new("global-rate-limit")
        .dropped_in("1.12")
        .instead("limit-rps, which counts for each client"),
    Former::family("global-rate-limit-").dropped_in("1.12"),
    Former::new("grpc-backend").instead("backend-protocol: GRPC"),
    Former::family("influxdb-"),
    Former::new("lua-resty-waf").instead("enable-modsecurity"),
    Former::new("lua-resty-waf-extra-rules").instead("modsecurity-snippet"),
    Former::family("lua-resty-waf-"),
    Former::new("mirror-uri").instead("mirror-target"),
    Former::new("opentracing-trust-incoming-span").instead("opentelemetry-trust-incoming-span"),
    Former::new("proxy-pass-params"),
    Former::new("secure-backends").instead("backend-protocol: HTTPS"),
    Former::new("secure-verify-ca-secret").instead("proxy-ssl-secret and proxy-ssl-verify: \"on\""),
    Former::new("session-cookie-hash").dropped_in("0.24"),
    Former::new("upstream-fail-timeout").instead("sluice.dev/ejection-seconds"),
    Former::new("upstream-max-fails").instead("sluice.dev/eject-after"),
    Former::new("vts-filter-key"),
];

/// A remark on the name, if it is a former one.
pub(super) fn remark(name: &str) -> Option<String> {
    let former = FORMER.iter().find(|former| former.is(name))?;
    let fate = match former.dropped_in {
        Some(release) => format!("ingress-nginx {release} dropped it"),
        None => "it was one once".to_owned(),
    };
    Some(match former.instead {
        Some(annotation) => format!("{fate}; use {annotation}"),
        None => fate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotations::{GROUPS, catalogue};

    #[test]
    fn no_former_name_is_an_annotation_and_all_in_their_place_are() {
        for annotation in GROUPS.iter().flat_map(|group| group.annotations) {
            assert_eq!(remark(annotation.name), None, "{}", annotation.name);
        }
        for instead in FORMER.iter().filter_map(|former| former.instead) {
            let name = instead.split([':', ',', ' ']).next().unwrap();
            assert!(catalogue::find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_name_comes_before_its_family() {
        for (place, former) in FORMER.iter().enumerate() {
            let first = FORMER.iter().position(|other| other.is(former.name));
            assert_eq!(first, Some(place), "{}", former.name);
        }
        for (name, expected) in [
            ("influxdb-port", "it was one once"),
            ("global-rate-limit-key", "ingress-nginx 1.12 dropped it"),
            ("mirror-uri", "it was one once; use mirror-target"),
            (
                "global-rate-limit",
                "ingress-nginx 1.12 dropped it; use limit-rps, which counts for each client",
            ),
        ] {
            assert_eq!(remark(name).as_deref(), Some(expected));
        }
    }
}
