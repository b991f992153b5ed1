//! The listener for HTTPS, with the default certificates. It has a chain for each certificate, so it is rendered
//! only when its chains change: neither a route nor a renewed certificate does that.

use std::collections::BTreeSet;

use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::Secret;
use prost::Message;
use sluice_ir::Config;

use crate::render::{self, DEFAULT_CERTIFICATE, Discovery, HTTPS};
use crate::settings::Https;
use crate::{ResourceType, Settings, Update};

/// The listener as it was published last.
#[derive(Clone, Debug, Default)]
pub(super) struct HttpsCache {
    /// Its ingredients.
    rendered: Option<(Config, Discovery)>,
    /// Names under which it asks for the default certificate.
    certificates: BTreeSet<String>,
    /// The default certificate, encoded.
    certificate: Vec<u8>,
}

impl HttpsCache {
    /// Sets all that has changed.
    pub(super) fn publish(
        &mut self,
        config: &Config,
        settings: &Settings,
        discovery: Discovery,
        update: &mut Update,
    ) {
        let Some(https) = &settings.https else {
            update.remove(ResourceType::Listener, HTTPS);
            return;
        };
        let is_stale = self.remember(config, discovery);
        if is_stale && let Some(rendered) = render::tls_listener(config, settings, discovery) {
            update.put(ResourceType::Listener, HTTPS, &rendered.listener);
            let before = std::mem::replace(&mut self.certificates, rendered.default_certificates);
            for name in before.difference(&self.certificates) {
                update.remove(ResourceType::Secret, name);
            }
        }
        let certificate = default_certificate(config, https, DEFAULT_CERTIFICATE).encode_to_vec();
        if is_stale || certificate != self.certificate {
            for name in &self.certificates {
                let copy = default_certificate(config, https, name);
                update.put(ResourceType::Secret, name, &copy);
            }
            update.set(
                ResourceType::Secret,
                DEFAULT_CERTIFICATE,
                certificate.clone(),
            );
            self.certificate = certificate;
        }
    }

    /// Remembers the ingredients of the listener. True if it has to be rendered. Settings of the process stay.
    fn remember(&mut self, config: &Config, discovery: Discovery) -> bool {
        let now = (ingredients(config), discovery);
        let before = self.rendered.replace(now.clone());
        !before.is_some_and(|before| is_same(&before, &now))
    }
}

fn default_certificate(config: &Config, https: &Https, name: &str) -> Secret {
    let chosen = config.default_certificate.as_ref();
    match chosen.and_then(|id| config.secrets.get(id)) {
        Some(chosen) => render::named_secret(name, chosen),
        None => render::secret(name, &https.default_certificate),
    }
}

/// Ingredients of the listener. The rest would be kept alive for nothing.
fn ingredients(config: &Config) -> Config {
    Config {
        global: config.global.clone(),
        servers: config.servers.clone(),
        tls: config.tls.clone(),
        passthrough: config.passthrough.clone(),
        ..Config::default()
    }
}

/// Compared at the cost of what differs.
fn is_same(before: &(Config, Discovery), now: &(Config, Discovery)) -> bool {
    let ((before, before_discovery), (now, discovery)) = (before, now);
    before_discovery == discovery
        && before.global == now.global
        && render::have_same_chains(before, now)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use sluice_ir::{
        BackendId, ClientValidation, HostTls, Hostname, SecretId, SecretValue, Sensitive, Server,
        ServerName,
    };

    use super::*;
    use crate::{Certificate, Change, FilterCode, Https};

    /// Of one label more and less, so that wildcards cover some of them.
    const NAMES: [&str; 6] = ["a.test", "w.test", "*.w.test", "a.w.test", "b.a.w.test", ""];

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Serve(usize),
        Withdraw(usize),
        Alias(usize, usize),
        Certify(usize, bool),
        Check(usize, bool),
        Uncertify(usize),
        Renew(bool),
        Pass(bool),
        RejectUnknown(bool),
    }

    fn step() -> impl Strategy<Value = Step> {
        let name = 0..NAMES.len();
        prop_oneof![
            name.clone().prop_map(Step::Serve),
            name.clone().prop_map(Step::Withdraw),
            (name.clone(), name.clone()).prop_map(|(of, name)| Step::Alias(of, name)),
            (name.clone(), any::<bool>())
                .prop_map(|(name, is_other)| Step::Certify(name, is_other)),
            (name.clone(), any::<bool>()).prop_map(|(name, is_other)| Step::Check(name, is_other)),
            name.prop_map(Step::Uncertify),
            any::<bool>().prop_map(Step::Renew),
            any::<bool>().prop_map(Step::Pass),
            any::<bool>().prop_map(Step::RejectUnknown),
        ]
    }

    fn apply(config: &mut Config, step: Step) {
        let name = |n: usize| ServerName::parse(NAMES[n]).unwrap();
        match step {
            Step::Serve(n) => drop(config.servers.insert(name(n), Server::default().into())),
            Step::Withdraw(n) => drop(config.servers.remove(&name(n))),
            Step::Alias(of, n) => {
                let server = Server {
                    aliases: [name(n)].into_iter().collect(),
                    ..Server::default()
                };
                config.servers.insert(name(of), server.into());
            }
            Step::Certify(n, is_other) => {
                let secret = if is_other { "d/other" } else { "d/one" };
                let host = HostTls {
                    certificate: Some(SecretId::new(secret)),
                    ..HostTls::default()
                };
                config.tls.insert(name(n), host);
            }
            Step::Check(n, is_other) => {
                let ca = SecretId::new(if is_other { "d/other/ca" } else { "d/one/ca" });
                let host = HostTls {
                    client_validation: Some(ClientValidation { ca, depth: 1 }),
                    ..HostTls::default()
                };
                config.tls.insert(name(n), host);
            }
            Step::Renew(is_other) => {
                let id = SecretId::new("d/default");
                let value = SecretValue::Certificate {
                    chain: is_other.to_string(),
                    key: Sensitive::new(String::new()),
                };
                config.secrets.insert(id.clone(), value);
                config.default_certificate = Some(id);
            }
            Step::Uncertify(n) => drop(config.tls.remove(&name(n))),
            Step::Pass(is_passed) => {
                let host = Hostname::parse("a.test").unwrap();
                match is_passed {
                    true => drop(config.passthrough.insert(host, BackendId::new("d/a/443"))),
                    false => drop(config.passthrough.remove(&host)),
                }
            }
            Step::RejectUnknown(rejects) => config.global.tls.reject_unknown_names = rejects,
        }
    }

    #[derive(Default)]
    struct Publication {
        https: HttpsCache,
        /// Those that clients have.
        resources: BTreeMap<(ResourceType, String), Vec<u8>>,
    }

    impl Publication {
        fn publish(&mut self, config: &Config) {
            let (mut update, settings) = (Update::default(), settings());
            (self.https).publish(config, &settings, Discovery::Scopes, &mut update);
            for ((kind, name), change) in update.changes {
                let key = (kind, name.to_string());
                match change {
                    Change::Set(content) => drop(self.resources.insert(key, content.to_vec())),
                    Change::Remove => drop(self.resources.remove(&key)),
                    change => panic!("{key:?}: {change:?}"),
                }
            }
        }
    }

    fn settings() -> Settings {
        Settings {
            https: Some(Https {
                address: "127.0.0.1:443".parse().unwrap(),
                default_certificate: Certificate {
                    chain: String::new(),
                    key: String::new(),
                },
            }),
            ..Settings::new(FilterCode::Inline(vec![]), vec![])
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

        /// Copies of the default certificate come and go with the listener that names them.
        #[test]
        fn there_is_what_a_first_publication_gives(steps in prop::collection::vec(step(), 1..12)) {
            let (mut publication, mut config) = (Publication::default(), Config::default());
            for step in steps {
                apply(&mut config, step);
                publication.publish(&config);
                let mut first = Publication::default();
                first.publish(&config);
                prop_assert_eq!(&publication.resources, &first.resources, "after {:?}", step);
            }
        }
    }

    #[test]
    fn routes_and_renewed_certificates_leave_it_as_it_is() {
        let (mut cache, mut config) = (HttpsCache::default(), Config::default());
        apply(&mut config, Step::Serve(0));
        apply(&mut config, Step::Certify(0, false));
        assert!(cache.remember(&config, Discovery::Table));
        apply(&mut config, Step::Serve(1));
        let renewed = SecretValue::Authorities {
            certificates: "renewed".to_owned(),
            revoked: None,
        };
        config.secrets.insert(SecretId::new("d/one"), renewed);
        assert!(!cache.remember(&config, Discovery::Table));
        assert!(cache.remember(&config, Discovery::Scopes));
    }
}
