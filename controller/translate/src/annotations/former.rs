//! Annotations that ingress-nginx once had, by the history of its documentation and its code.

/// A former annotation.
struct Former {
    name: &'static str,
    /// True for all names that begin so.
    is_family: bool,
    /// Its successor, as one writes it.
    today: Option<&'static str>,
}

impl Former {
    const fn new(name: &'static str) -> Former {
        Former {
            name,
            is_family: false,
            today: None,
        }
    }

    const fn family(name: &'static str) -> Former {
        Former {
            is_family: true,
            ..Former::new(name)
        }
    }

    const fn today(self, today: &'static str) -> Former {
        Former {
            today: Some(today),
            ..self
        }
    }

    fn is(&self, name: &str) -> bool {
        name == self.name || (self.is_family && name.starts_with(self.name))
    }
}

const FORMER: [Former; 16] = [
    Former::new("add-base-url"),
    Former::new("base-url-scheme"),
    Former::new("enable-influxdb"),
    Former::new("enable-opentracing").today("enable-opentelemetry"),
    Former::family("global-rate-limit").today("limit-rps"),
    Former::new("grpc-backend").today("backend-protocol: GRPC"),
    Former::family("influxdb-"),
    Former::family("lua-resty-waf").today("enable-modsecurity"),
    Former::new("mirror-uri").today("mirror-target"),
    Former::new("opentracing-trust-incoming-span").today("opentelemetry-trust-incoming-span"),
    Former::new("secure-backends").today("backend-protocol: HTTPS"),
    Former::new("secure-verify-ca-secret").today("proxy-ssl-secret"),
    Former::new("session-cookie-hash"),
    Former::new("upstream-fail-timeout"),
    Former::new("upstream-max-fails"),
    Former::new("vts-filter-key"),
];

/// A remark on the name, if it is a former one.
pub(super) fn remark(name: &str) -> Option<String> {
    let former = FORMER.iter().find(|former| former.is(name))?;
    Some(match former.today {
        Some(today) => format!("today it is {today}"),
        None => "it was one once, and has no successor".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotations::{GROUPS, catalogue};

    #[test]
    fn no_former_name_is_an_annotation_and_every_successor_is() {
        for annotation in GROUPS.iter().flat_map(|group| group.annotations) {
            assert_eq!(remark(annotation.name), None, "{}", annotation.name);
        }
        for today in FORMER.iter().filter_map(|former| former.today) {
            let name = today.split(':').next().unwrap();
            assert!(catalogue::find(name).is_some(), "{name}");
        }
    }
}
