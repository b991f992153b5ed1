//! Names of one case among others in the same cluster: a namespace and host names of its own.
//!
//! A name of a tenant is as long as the recorded one, so that no limit of lengths is met that was not met before.

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

use super::file::{RecordedCase, RecordedRequest};

const NAMESPACE: &str = "demo";
const DOMAIN: &str = ".example";
const UPPER_DOMAIN: &str = ".EXAMPLE";
/// Parts of a case whose keys are names of objects.
const BY_NAME: [&str; 4] = ["endpoints", "backends", "secrets", "configmaps"];

/// The names of one case.
#[derive(Clone, Debug)]
pub struct Tenant {
    namespace: String,
    domain: String,
}

impl Tenant {
    /// The names as they were recorded, for a case that has a cluster to itself.
    pub fn alone() -> Tenant {
        Tenant {
            namespace: NAMESPACE.to_owned(),
            domain: DOMAIN.to_owned(),
        }
    }

    /// The names of the `n`th case.
    ///
    /// # Errors
    /// There are no more names.
    pub fn numbered(n: usize) -> Result<Tenant> {
        ensure!(n < 1000, "only 1000 cases share a cluster");
        Ok(Tenant {
            namespace: format!("q{n:03}"),
            domain: format!(".x{n:06}"),
        })
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// A recorded text in the names of this tenant.
    pub fn rename(&self, text: &str) -> String {
        text.replace(DOMAIN, &self.domain)
            .replace(UPPER_DOMAIN, &self.domain.to_uppercase())
            .replace(NAMESPACE, &self.namespace)
    }

    /// An observed text in the recorded names.
    pub fn restore(&self, text: &str) -> String {
        text.replace(&self.domain, DOMAIN)
            .replace(&self.domain.to_uppercase(), UPPER_DOMAIN)
            .replace(&self.namespace, NAMESPACE)
    }

    /// The objects of a case. The names of those that are not in a namespace by themselves are `NAMESPACE/NAME`.
    pub fn given(&self, case: &RecordedCase) -> Result<Map<String, Value>> {
        let text = self.rename(&serde_json::to_string(&case.given)?);
        let mut given: Map<String, Value> = serde_json::from_str(&text)?;
        for part in BY_NAME {
            if let Some(Value::Object(by_name)) = given.get_mut(part) {
                let all = std::mem::take(by_name);
                by_name.extend(
                    all.into_iter()
                        .map(|(name, value)| (format!("{}/{name}", self.namespace), value)),
                );
            }
        }
        in_words(&mut given).with_context(|| case.id.clone())?;
        Ok(given)
    }

    /// A request.
    pub fn request(&self, recorded: &RecordedRequest) -> RecordedRequest {
        let mut request = recorded.clone();
        let texts = [&mut request.host, &mut request.target];
        texts
            .into_iter()
            .chain(request.raw.as_mut())
            .chain(request.sni.iter_mut().flatten())
            .chain(request.headers.iter_mut().map(|(_, value)| value))
            .for_each(|text| *text = self.rename(text));
        request
    }
}

/// Says in the vocabulary of acceptance cases what recordings say with objects.
fn in_words(given: &mut Map<String, Value>) -> Result<()> {
    if let Some(Value::Object(backends)) = given.get_mut("backends") {
        for backend in backends.values_mut() {
            let Value::Object(backend) = backend else {
                continue;
            };
            backend.remove("port");
            if let Some(certificate) = backend.get("cert").cloned() {
                let dns = certificate["dns"].as_array().into_iter().flatten();
                let names = std::iter::once(&certificate["cn"]).chain(dns);
                let names: Vec<&str> = names.filter_map(Value::as_str).collect();
                let authority = certificate["ca"].as_str().context("cert without ca")?;
                let words = format!("{} signed by {authority}", names.join(","));
                backend.insert("cert".to_owned(), words.into());
            }
        }
    }
    if let Some(Value::Object(secrets)) = given.get_mut("secrets") {
        for secret in secrets.values_mut() {
            if let Some(words) = secret.as_str() {
                *secret = secret_words(words).into();
            }
        }
    }
    if let Some(missing) = given.remove("missing_services") {
        for name in missing.as_array().into_iter().flatten() {
            let name = name.to_string();
            let text = serde_json::to_string(given)?.replace(&name, "\"invalid\"");
            *given = serde_json::from_str(&text)?;
        }
    }
    Ok(())
}

/// `ca.crt of CA "NAME"`, `client certificate CN=NAME with ca.crt of CA "NAME"`.
fn secret_words(words: &str) -> String {
    let authority = words.split('"').nth(1).unwrap_or_default();
    match words.strip_prefix("client certificate CN=") {
        Some(rest) => {
            let name = rest.split(' ').next().unwrap_or_default();
            format!("tls for {name} signed by ca with ca {authority}")
        }
        None if words.starts_with("ca.crt of CA") => format!("ca {authority}"),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_as_long_as_the_recorded_ones_and_come_back() {
        let tenant = Tenant::numbered(17).unwrap();
        let text = "http://a.demo.svc app.example B.EXAMPLE demo/creds";
        let renamed = tenant.rename(text);
        assert_eq!(renamed.len(), text.len());
        assert!(!renamed.contains("demo") && !renamed.to_lowercase().contains("example"));
        assert_eq!(tenant.restore(&renamed), text);
    }

    #[test]
    fn objects_are_those_of_the_namespace() {
        let case: RecordedCase = serde_json::from_value(json!({
            "id": "x", "requests": [], "given": {
                "endpoints": {"echo": 2},
                "secrets": {"ca": "ca.crt of CA \"ca\"", "p": "client certificate CN=c with ca.crt of CA \"o\""},
                "backends": {"echo": {"scheme": "https", "port": 443, "cert": {"cn": "e", "dns": ["f"], "ca": "ca"}}},
            },
        }))
        .unwrap();
        let given = Tenant::numbered(1).unwrap().given(&case).unwrap();
        let expected = json!({
            "endpoints": {"q001/echo": 2},
            "secrets": {"q001/ca": "ca ca", "q001/p": "tls for c signed by ca with ca o"},
            "backends": {"q001/echo": {"scheme": "https", "cert": "e,f signed by ca"}},
        });
        assert_eq!(Value::Object(given), expected);
    }
}
