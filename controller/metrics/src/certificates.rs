//! Certificates of hosts: when they end, and who signed them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use prometheus::{GaugeVec, Registry};
use sluice_ir::{Config, SecretId, SecretValue};
use sluice_translate::{CertInfo, ObjectKey, ids};

use super::Identity;
use super::cap::{Cap, OTHER};
use super::controller::{opts, register};

/// Tenants choose hosts and Secrets.
const MOST_SERIES: usize = 10_000;
const EXPIRE: [&str; 5] = ["namespace", "class", "host", "secret_name", "identifier"];
const INFO: [&str; 9] = [
    "namespace",
    "class",
    "host",
    "secret_name",
    "identifier",
    "issuer_organization",
    "issuer_common_name",
    "serial_number",
    "public_key_algorithm",
];

/// The handles are shared with the registry.
pub(super) struct Certificates {
    class: String,
    expire: GaugeVec,
    info: GaugeVec,
    /// Parsed chains: parsing them at every scrape would cost more than the scrape.
    read: Mutex<HashMap<SecretId, (String, CertInfo)>>,
}

impl Certificates {
    /// With the labels of ingress-nginx, which are those of the certificate and not of the controller.
    pub(super) fn register(registry: &Registry, identity: &Identity) -> prometheus::Result<Self> {
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            register(registry, GaugeVec::new(opts(name, help), labels)?)
        };
        Ok(Certificates {
            class: identity.class.clone(),
            expire: gauge(
                "ssl_expire_time_seconds",
                "End of the certificate of a host, in seconds since 1970",
                &EXPIRE,
            )?,
            info: gauge(
                "ssl_certificate_info",
                "A constant 1, labelled with what a certificate is",
                &INFO,
            )?,
            read: Mutex::default(),
        })
    }

    /// Shows the certificates that are presented now, and no others.
    pub(super) fn refresh(&self, config: &Config) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.retain(|id, (chain, _)| chain_of(config, id) == Some(chain.as_str()));
        self.expire.reset();
        self.info.reset();
        let series = Cap::new(MOST_SERIES);
        for (host, id) in presented(config) {
            let Some(chain) = chain_of(config, id) else {
                continue;
            };
            if !read.contains_key(id)
                && let Some(info) = CertInfo::from_pem(chain)
            {
                read.insert(id.clone(), (chain.to_owned(), info));
            }
            if let Some((_, info)) = read.get(id) {
                self.show(&host, id, info, series.admits(&[&host]));
            }
        }
    }

    fn show(&self, host: &str, id: &SecretId, info: &CertInfo, is_shown: bool) {
        if !is_shown {
            // Of all others together, the one that ends first.
            let others = self
                .expire
                .with_label_values(&[OTHER, &self.class, OTHER, OTHER, OTHER]);
            let (known, expires) = (others.get(), seconds(info.expires));
            others.set(if known == 0.0 {
                expires
            } else {
                known.min(expires)
            });
            return;
        }
        let Some(ObjectKey { namespace, name }) = ids::secret_of(id) else {
            return;
        };
        let identifier = format!("{}-{}", info.issuer_serial_number, info.serial_number);
        let labels = [&namespace, self.class.as_str(), host, &name, &identifier];
        self.expire
            .with_label_values(&labels)
            .set(seconds(info.expires));
        let more = [
            info.issuer_organization.as_str(),
            &info.issuer_common_name,
            &info.serial_number,
            info.key_algorithm,
        ];
        let labels: Vec<&str> = labels.into_iter().chain(more).collect();
        self.info.with_label_values(&labels).set(1.0);
    }
}

/// Hosts with the certificate that each presents; `_` presents the operator's.
fn presented(config: &Config) -> impl Iterator<Item = (String, &SecretId)> {
    let hosts = config
        .tls
        .iter()
        .filter_map(|(name, host)| Some((name, host.certificate.as_ref()?)));
    let hosts = hosts.map(|(name, id)| (name.to_string(), id));
    hosts.chain(
        config
            .default_certificate
            .as_ref()
            .map(|id| ("_".to_owned(), id)),
    )
}

fn chain_of<'a>(config: &'a Config, id: &SecretId) -> Option<&'a str> {
    match config.secrets.get(id)? {
        SecretValue::Certificate { chain, .. } => Some(chain),
        SecretValue::Authorities { .. } => None,
    }
}

#[allow(clippy::cast_precision_loss, reason = "exact until the year 285428681")]
fn seconds(since_1970: i64) -> f64 {
    since_1970 as f64
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;
    use sluice_ir::{HostTls, Sensitive, ServerName};

    use super::*;

    fn self_signed() -> String {
        let names = vec!["a.example".to_owned()];
        rcgen::generate_simple_self_signed(names)
            .unwrap()
            .cert
            .pem()
    }

    fn shown(registry: &Registry) -> String {
        TextEncoder::new()
            .encode_to_string(&registry.gather())
            .unwrap()
    }

    #[test]
    fn each_host_shows_its_certificate_until_it_has_another() {
        let registry = Registry::new();
        let identity = Identity {
            class: "c".to_owned(),
            ..Identity::default()
        };
        let certificates = Certificates::register(&registry, &identity).unwrap();
        let mut config = Config::default();
        let id = SecretId::new("shop/tls");
        let chain = self_signed();
        let serial = CertInfo::from_pem(&chain).unwrap().serial_number;
        let value = SecretValue::Certificate {
            chain,
            key: Sensitive::new("K".to_owned()),
        };
        config.secrets.insert(id.clone(), value);
        let host = HostTls {
            certificate: Some(id.clone()),
            ..HostTls::default()
        };
        config
            .tls
            .insert(ServerName::parse("a.example").unwrap(), host);
        certificates.refresh(&config);
        let expire = format!(
            "ssl_expire_time_seconds{{class=\"c\",host=\"a.example\",identifier=\"-{serial}\",namespace=\"shop\",\
             secret_name=\"tls\"}}"
        );
        let page = shown(&registry);
        assert!(page.contains(&expire), "{page}");
        assert!(
            page.contains("public_key_algorithm=\"")
                && page.contains(&format!("serial_number=\"{serial}\""))
        );

        let chain = self_signed();
        let renewed = CertInfo::from_pem(&chain).unwrap().serial_number;
        let value = SecretValue::Certificate {
            chain,
            key: Sensitive::new("K".to_owned()),
        };
        config.secrets.insert(id, value);
        certificates.refresh(&config);
        let page = shown(&registry);
        assert!(page.contains(&renewed) && !page.contains(&serial), "{page}");

        config.tls.clear();
        certificates.refresh(&config);
        assert!(!shown(&registry).contains("a.example"));
    }
}
