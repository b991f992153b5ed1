//! Applies actions to the model.

use std::collections::BTreeMap;

use super::action::{Action, Kind, Whose};
use super::model::{Model, PREFIX};
use super::schema::{Check, Ingress, Secret};

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

impl Model {
    /// Makes a change; `check` is the one that it comes before.
    ///
    /// # Errors
    /// When there is nothing that it could mean.
    pub fn change(&mut self, action: &Action, check: &Check) -> Result<(), String> {
        match action {
            Action::Scale(service, count) => {
                self.given.endpoints.insert(service.clone(), *count);
            }
            Action::Set { name, value, whose } => self.set(name, value.as_deref(), whose, check)?,
            Action::Describe(name, secret) => {
                let name = if name.is_empty() {
                    self.only(Kind::Secret)?
                } else {
                    name.clone()
                };
                self.given.secrets.insert(name.clone(), secret.clone());
                self.missing.remove(&(Kind::Secret, name));
            }
            Action::Create(kind, name) => {
                self.create(*kind, name);
                self.last = Some((*kind, name.clone()));
            }
            Action::Delete(kind, name) => {
                let object = self.object_named(*kind, name.as_deref())?;
                self.missing.insert(object.clone());
                self.last = Some(object);
            }
            Action::DeleteIt => {
                let last = self.last.clone().ok_or("delete it: nothing was created")?;
                self.missing.insert(last);
            }
            Action::Wait(_) => {}
        }
        Ok(())
    }

    fn create(&mut self, kind: Kind, name: &str) {
        self.missing.remove(&(kind, name.to_owned()));
        if kind == Kind::Secret && !self.given.secrets.contains_key(name) {
            let tls = self.given.ingresses.iter().flat_map(|ingress| &ingress.tls);
            let users = tls.filter(|tls| tls.secret_name.as_deref() == Some(name));
            let hosts: Vec<&str> = users
                .flat_map(|tls| tls.hosts.iter().map(String::as_str))
                .collect();
            let hosts = if hosts.is_empty() {
                name.to_owned()
            } else {
                hosts.join(", ")
            };
            self.given
                .secrets
                .insert(name.to_owned(), Secret::Words(format!("tls for {hosts}")));
        }
    }

    /// The object with a name.
    fn object_named(
        &self,
        kind: Option<Kind>,
        name: Option<&str>,
    ) -> Result<(Kind, String), String> {
        let kinds = match kind {
            Some(kind) => vec![kind],
            None => vec![Kind::Ingress, Kind::Service, Kind::Secret, Kind::ConfigMap],
        };
        let Some(name) = name else {
            let kind = kind.ok_or("delete: what?")?;
            return Ok((kind, self.only(kind)?));
        };
        for kind in kinds {
            if self.names(kind).iter().any(|known| known == name) {
                return Ok((kind, name.to_owned()));
            }
            // "the auth service", whatever its name is.
            let auth = self.auth_services();
            if kind == Kind::Service && name == "auth" && auth.len() == 1 {
                return Ok((kind, auth.into_iter().collect()));
            }
        }
        Err(format!("there is no {name:?} to delete"))
    }

    fn only(&self, kind: Kind) -> Result<String, String> {
        match self.names(kind).as_slice() {
            [one] => Ok(one.clone()),
            all => Err(format!("which {kind:?}? there are {all:?}")),
        }
    }

    fn names(&self, kind: Kind) -> Vec<String> {
        match kind {
            Kind::Ingress => self
                .given
                .ingresses
                .iter()
                .map(|ingress| ingress.name.clone())
                .collect(),
            Kind::Service => self.services().into_keys().map(|key| key.name).collect(),
            Kind::Secret => self.given.secrets.keys().cloned().collect(),
            Kind::ConfigMap => self.given.configmaps.keys().cloned().collect(),
        }
    }

    fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        whose: &Whose,
        check: &Check,
    ) -> Result<(), String> {
        let is_setting = self
            .given
            .configmap
            .as_ref()
            .is_some_and(|settings| settings.contains_key(name));
        let is_field =
            matches!(name, "ingressClassName" | CLASS_ANNOTATION) || name.starts_with("spec.");
        // Only a ConfigMap has a checksum that an operator looks at.
        let by_checksum = check.then.checksum_changed.is_some();
        match whose {
            Whose::Unsaid if !is_field && (is_setting || by_checksum) => {
                self.set_setting(name, value);
            }
            Whose::ConfigMap => self.set_setting(name, value),
            Whose::Unsaid => {
                let annotation = annotation(name);
                let has_it = |ingress: &Ingress| ingress.annotations.contains_key(&annotation);
                let anybody_has_it = self.given.ingresses.iter().any(has_it);
                let all = self.given.ingresses.iter_mut();
                all.filter(|ingress| !anybody_has_it || has_it(ingress))
                    .try_for_each(|ingress| ingress.set(name, value))?;
            }
            Whose::Ingress(of) => {
                let mut all = self.given.ingresses.iter_mut();
                let ingress = all.find(|ingress| ingress.name == *of);
                ingress
                    .ok_or_else(|| format!("there is no Ingress {of:?}"))?
                    .set(name, value)?;
            }
        }
        Ok(())
    }

    fn set_setting(&mut self, name: &str, value: Option<&str>) {
        put(self.given.configmap.get_or_insert_default(), name, value);
    }
}

impl Ingress {
    fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        match (name.strip_prefix("spec.").unwrap_or(name), value) {
            ("ingressClassName", value) => self.ingress_class_name = value.map(str::to_owned),
            ("tls", None) => self.tls.clear(),
            ("rules", None) => self.rules.clear(),
            ("defaultBackend", None) => self.default_backend = None,
            ("host", Some(host)) => self
                .rules
                .iter_mut()
                .for_each(|rule| rule.host = Some(host.to_owned())),
            (field, _) if name.starts_with("spec.") => {
                return Err(format!("spec.{field} cannot be set"));
            }
            _ => put(&mut self.annotations, &annotation(name), value),
        }
        Ok(())
    }
}

fn put(map: &mut BTreeMap<String, String>, name: &str, value: Option<&str>) {
    match value {
        Some(value) => drop(map.insert(name.to_owned(), value.to_owned())),
        None => drop(map.remove(name)),
    }
}

fn annotation(name: &str) -> String {
    if name.contains('/') {
        name.to_owned()
    } else {
        format!("{PREFIX}{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::action;
    use super::*;
    use serde_json::json;

    fn changed(
        given: serde_json::Value,
        after: &str,
        then: serde_json::Value,
    ) -> Result<Model, String> {
        let mut model = Model {
            given: serde_json::from_value(given).unwrap(),
            ..Model::default()
        };
        let check: Check = serde_json::from_value(json!({ "when": {}, "then": then })).unwrap();
        for action in action::parse(after).unwrap() {
            model.change(&action, &check)?;
        }
        Ok(model)
    }

    fn two() -> serde_json::Value {
        json!({
            "ingresses": [
                { "name": "main", "tls": [{ "hosts": ["a"], "secretName": "s" }] },
                { "name": "canary", "annotations": { (format!("{PREFIX}canary-weight")): "1" } },
            ],
            "secrets": { "s": "tls for a" },
            "configmap": { "hsts": "true" },
        })
    }

    #[test]
    fn a_name_says_where_it_is_set() {
        let weight = changed(two(), "set canary-weight=5", json!({}))
            .unwrap()
            .given
            .ingresses;
        assert!(weight[0].annotations.is_empty());
        assert_eq!(
            weight[1].annotations[&format!("{PREFIX}canary-weight")],
            "5"
        );
        let setting = changed(two(), "set hsts=false", json!({})).unwrap().given;
        assert_eq!(setting.configmap.unwrap()["hsts"], "false");
        let checksum = changed(two(), "set x=1", json!({ "checksum_changed": true }))
            .unwrap()
            .given;
        assert_eq!(checksum.configmap.unwrap()["x"], "1");
        let class = changed(two(), "set ingressClassName=n on main", json!({}))
            .unwrap()
            .given
            .ingresses;
        assert_eq!(class[0].ingress_class_name.as_deref(), Some("n"));
        assert!(
            changed(two(), "remove spec.tls", json!({}))
                .unwrap()
                .given
                .ingresses[0]
                .tls
                .is_empty()
        );
    }

    #[test]
    fn objects_come_and_go() {
        let gone = |after| changed(two(), after, json!({})).map(|model| model.missing);
        let secret = (Kind::Secret, "s".to_owned());
        assert_eq!(
            gone("delete secret")
                .unwrap()
                .into_iter()
                .collect::<Vec<_>>(),
            [secret]
        );
        assert!(gone("delete secret; create secret s").unwrap().is_empty());
        assert_eq!(gone("delete main").unwrap().len(), 1);
        assert!(gone("delete nobody").is_err() && gone("delete it").is_err());
    }
}
