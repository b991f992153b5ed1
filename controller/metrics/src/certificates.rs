//! Certificates of hosts: when they end, and who signed them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sluice_ir::{Config, SecretId, SecretValue};
use sluice_translate::{CertInfo, ObjectKey, ids};

use super::Identity;
use super::budget;
use super::label::Label;
use super::registry::Registry;
use super::series::Series;

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

type InfoLabels = [Label; INFO.len()];

/// The handles are shared with the registry.
pub(super) struct Certificates {
    class: Label,
    expire: Series<{ EXPIRE.len() }, f64>,
    info: Series<{ INFO.len() }, f64>,
    /// Parsed chains: parsing them at every scrape would cost more than the scrape.
    read: Mutex<HashMap<SecretId, (String, CertInfo)>>,
}

impl Certificates {
    /// With the labels of ingress-nginx, which are those of the certificate and not of the controller.
    pub(super) fn register(registry: &Registry, identity: &Identity) -> prometheus::Result<Self> {
        Ok(Certificates {
            class: Label::of(&identity.class),
            expire: Series::gauge(
                registry,
                "ssl_expire_time_seconds",
                "End of the certificate of a host, in seconds since 1970",
                EXPIRE,
            )?,
            info: Series::gauge(
                registry,
                "ssl_certificate_info",
                "A constant 1, labelled with what a certificate is",
                INFO,
            )?,
            read: Mutex::default(),
        })
    }

    /// Shows the certificates that are presented now, and no others.
    pub(super) fn refresh(&self, config: &Config) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.retain(|id, (chain, _)| chain_of(config, id) == Some(chain.as_str()));
        let mut hosts = Vec::new();
        for (host, id) in presented(config) {
            let Some(chain) = chain_of(config, id) else {
                continue;
            };
            if !read.contains_key(id)
                && let Some(info) = CertInfo::from_pem(chain)
            {
                read.insert(id.clone(), (chain.to_owned(), info));
            }
            if let Some((_, info)) = read.get(id)
                && let Some(ObjectKey { namespace, name }) = ids::secret_of(id)
            {
                let labels = self.labels(&host, [&namespace, &name], info);
                hosts.push((labels, seconds(info.expires)));
            }
        }
        self.show(by_turns(hosts));
    }

    fn labels(&self, host: &str, secret: [&str; 2], info: &CertInfo) -> InfoLabels {
        let [namespace, name] = secret.map(Label::of);
        let identifier = format!("{}-{}", info.issuer_serial_number, info.serial_number);
        [
            namespace,
            self.class.clone(),
            Label::of(host),
            name,
            Label::of(&identifier),
            Label::of(&info.issuer_organization),
            Label::of(&info.issuer_common_name),
            Label::of(&info.serial_number),
            Label::of(info.key_algorithm),
        ]
    }

    /// The first ones, as many as there is room for. Of all others together, the one that ends first.
    fn show(&self, hosts: Vec<(InfoLabels, f64)>) {
        let mut left = budget::CERTIFICATES;
        let mut others: Option<f64> = None;
        let (mut expire, mut info) = (Vec::new(), Vec::new());
        for (labels, expires) in hosts {
            let [namespace, class, host, secret, identifier, ..] = labels.clone();
            let of_expire = [namespace, class, host, secret, identifier];
            let cost = self.expire.cost(&of_expire) + self.info.cost(&labels);
            if cost > left {
                left = 0;
                others = Some(others.map_or(expires, |known| known.min(expires)));
                continue;
            }
            left -= cost;
            expire.push((of_expire, expires));
            info.push((labels, 1.0));
        }
        if let Some(expires) = others {
            let [namespace, host, secret, identifier] = Label::others();
            let labels = [namespace, self.class.clone(), host, secret, identifier];
            expire.push((labels, expires));
        }
        self.expire.show(expire);
        self.info.show(info);
    }
}

/// The first host of each namespace, then the second ones: whoever has many comes after all others.
fn by_turns(hosts: Vec<(InfoLabels, f64)>) -> Vec<(InfoLabels, f64)> {
    let mut turns: HashMap<Label, usize> = HashMap::new();
    let numbered = hosts.into_iter().map(|host| {
        let [namespace, ..] = &host.0;
        let turn = turns.entry(namespace.clone()).or_default();
        *turn += 1;
        (*turn, host)
    });
    let mut numbered: Vec<_> = numbered.collect();
    numbered.sort_by_key(|(turn, _)| *turn);
    numbered.into_iter().map(|(_, host)| host).collect()
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
    use sluice_ir::{HostTls, Sensitive, ServerName};

    use super::*;

    fn self_signed() -> String {
        let names = vec!["a.example".to_owned()];
        rcgen::generate_simple_self_signed(names)
            .unwrap()
            .cert
            .pem()
    }

    #[test]
    fn each_host_shows_its_certificate_until_it_has_another() {
        let registry = Registry::default();
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
        let page = registry.text();
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
        let page = registry.text();
        assert!(page.contains(&renewed) && !page.contains(&serial), "{page}");

        config.tls.clear();
        certificates.refresh(&config);
        assert!(!registry.text().contains("a.example"));
    }

    #[test]
    fn hosts_of_a_namespace_with_many_come_after_those_of_others() {
        let host = |namespace: &str, host: &str| {
            let mut labels = [(); INFO.len()].map(|()| Label::of(""));
            labels[0] = Label::of(namespace);
            labels[2] = Label::of(host);
            (labels, 0.0)
        };
        let hosts = [("many", "a"), ("many", "b"), ("many", "c"), ("few", "d")];
        let hosts = hosts
            .map(|(namespace, name)| host(namespace, name))
            .to_vec();
        let order: Vec<String> = by_turns(hosts)
            .iter()
            .map(|(labels, _)| labels[2].as_str().to_owned())
            .collect();
        assert_eq!(order, ["a", "d", "b", "c"]);
    }

    #[test]
    fn labels_of_all_certificates_take_no_more_than_their_room_and_the_rest_is_one_series() {
        let registry = Registry::default();
        let certificates = Certificates::register(&registry, &Identity::default()).unwrap();
        let long = "l".repeat(256);
        let hosts = (0..4_000).map(|number| {
            let mut labels = [(); INFO.len()].map(|()| Label::of(&long));
            labels[2] = Label::of(&format!("{number}.example"));
            (labels, f64::from(10_000 - number))
        });
        certificates.show(hosts.collect());
        let (page, most) = (registry.text(), budget::CERTIFICATES);
        assert!((most / 10 * 9..most + 2_000).contains(&page.len()));
        let rest = page.lines().find(|line| line.contains("host=\"_other\""));
        assert!(rest.is_some_and(|line| line.ends_with(" 6001")), "{rest:?}");
    }
}
