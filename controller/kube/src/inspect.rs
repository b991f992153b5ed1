//! Single reads for a check of an installation: each ends in time, and says why there is no answer.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{Api, GetParams, ListParams, PostParams};
use kube::core::Request;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use crate::connect::{Access, connect_now, url};
use crate::outage::with_causes;

/// An API server that takes longer for one answer is as good as gone.
const ANSWER: Duration = Duration::from_secs(6);
/// Objects of one answer.
const PAGE: u32 = 500;

/// One right that is asked for.
#[derive(Clone, Debug, Default)]
pub struct Permission {
    /// Namespace; `None`: all.
    pub namespace: Option<String>,
    /// API group.
    pub group: String,
    /// Resource, in the plural.
    pub resource: String,
    /// Part of it, or nothing.
    pub subresource: String,
    /// Object; `None`: all.
    pub name: Option<String>,
    /// Verb.
    pub verb: String,
}

/// A way to the API server.
#[derive(Clone)]
pub struct Inspection {
    client: Client,
    /// URL of the API server.
    pub url: String,
}

impl Inspection {
    /// Connects; fails when the API server does not answer in time.
    pub async fn start(access: &Access) -> anyhow::Result<Self> {
        let client = connect_now(access, ANSWER).await?;
        let url = url(access).await?;
        Ok(Inspection { client, url })
    }

    /// Version of the API server, such as `v1.33.1`.
    pub async fn version(&self) -> Result<String, String> {
        let info = in_time(self.client.apiserver_version()).await?;
        Ok(info.git_version)
    }

    /// True if an account may; `None`: the one that asks.
    pub async fn may(
        &self,
        account: Option<&str>,
        permission: &Permission,
    ) -> Result<bool, String> {
        let attributes = Some(attributes(permission));
        let parameters = PostParams::default();
        let Some(account) = account else {
            let spec = SelfSubjectAccessReviewSpec {
                resource_attributes: attributes,
                ..SelfSubjectAccessReviewSpec::default()
            };
            let review = SelfSubjectAccessReview {
                spec,
                ..SelfSubjectAccessReview::default()
            };
            let api = Api::all(self.client.clone());
            let answer = in_time(api.create(&parameters, &review)).await?;
            return Ok(answer.status.is_some_and(|status| status.allowed));
        };
        let spec = SubjectAccessReviewSpec {
            groups: Some(groups(account)),
            resource_attributes: attributes,
            user: Some(account.to_owned()),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview {
            spec,
            ..SubjectAccessReview::default()
        };
        let api = Api::all(self.client.clone());
        let answer = in_time(api.create(&parameters, &review)).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }

    /// All objects of a kind without namespaces.
    pub async fn list<K>(&self) -> Result<Vec<K>, String>
    where
        K: Resource<Scope = ClusterResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        pages(&Api::all(self.client.clone()), "").await
    }

    /// Objects of a kind with these labels, in a namespace or in all of them.
    pub async fn list_in<K>(&self, namespace: Option<&str>, labels: &str) -> Result<Vec<K>, String>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api = match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        pages(&api, labels).await
    }

    /// One object.
    pub async fn get<K>(&self, namespace: &str, name: &str) -> Result<Option<K>, String>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        in_time(api.get_opt(name)).await
    }

    /// Page of a pod's HTTP server, by way of the API server; `path` without its first slash.
    pub async fn page(
        &self,
        namespace: &str,
        pod: &str,
        port: u16,
        path: &str,
    ) -> Result<String, String> {
        let pod = format!("/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy");
        let request = Request::new(pod).get(path, &GetParams::default());
        let request = request.map_err(|error| error.to_string())?;
        in_time(self.client.request_text(request)).await
    }
}

/// Groups of a service account: rights are granted to them, too.
fn groups(account: &str) -> Vec<String> {
    let mut groups = vec!["system:authenticated".to_owned()];
    let of_service = account.strip_prefix("system:serviceaccount:");
    if let Some((namespace, _)) = of_service.and_then(|rest| rest.split_once(':')) {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups
}

fn attributes(permission: &Permission) -> ResourceAttributes {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ResourceAttributes {
        namespace: permission.namespace.clone(),
        group: given(&permission.group),
        resource: given(&permission.resource),
        subresource: given(&permission.subresource),
        name: permission.name.clone(),
        verb: given(&permission.verb),
        ..ResourceAttributes::default()
    }
}

async fn pages<K>(api: &Api<K>, labels: &str) -> Result<Vec<K>, String>
where
    K: Clone + Debug + DeserializeOwned,
{
    let mut parameters = ListParams::default().labels(labels).limit(PAGE);
    let mut objects = Vec::new();
    loop {
        let page = in_time(api.list(&parameters)).await?;
        objects.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(objects),
        }
    }
}

async fn in_time<T>(asked: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match tokio::time::timeout(ANSWER, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        // The API server names account, verb and resource.
        Ok(Err(kube::Error::Api(status))) => Err(status.message.clone()),
        Ok(Err(error)) => Err(with_causes(&error)),
        Err(_) => Err(format!("no answer in {ANSWER:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_is_in_its_groups() {
        let expected = [
            "system:authenticated",
            "system:serviceaccounts",
            "system:serviceaccounts:a",
        ];
        assert_eq!(groups("system:serviceaccount:a:b"), expected);
        assert_eq!(groups("jane"), ["system:authenticated"]);
    }
}
