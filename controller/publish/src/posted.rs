//! Endpoints that were posted on the admin socket: they are served until the controller finds others.

use std::net::SocketAddr;

use sluice_ir::{BackendId, Config};
use sluice_state::{Post, PostedEndpoints, Posts, give_endpoints};
use sluice_translate::{AddressPolicy, Carries, Provenance, Updated};
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::{info, warn};

use crate::Publisher;

/// Lists of endpoints that are posted.
pub(crate) struct Posted {
    posts: Posts,
    received: UnboundedReceiver<Post>,
    /// The configuration without the list that is served.
    computed: Option<Config>,
}

impl Posted {
    pub(crate) async fn next(posted: &mut Option<Posted>) -> Post {
        match posted {
            Some(Posted { received, .. }) => match received.recv().await {
                Some(post) => post,
                None => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }
}

impl Publisher {
    /// Also serves lists of endpoints that are posted; `None`: nobody may.
    pub fn with_posts(self, posts: Option<(Posts, UnboundedReceiver<Post>)>) -> Self {
        let posted = posts.map(|(posts, received)| Posted {
            posts,
            received,
            computed: None,
        });
        Publisher { posted, ..self }
    }

    pub(crate) async fn take_post(&mut self, post: Post) {
        let _busy = self.view.progress().begin();
        let computed = self.posted.as_ref().and_then(|it| it.computed.as_ref());
        let computed = computed.unwrap_or(&self.effective);
        let checked = match self.view.progress().is_published() {
            true => check(&post.endpoints, computed, self.translation.addresses()),
            false => Err("nothing is served yet".to_owned()),
        };
        if checked.is_ok() {
            let computed = computed.clone();
            warn!(
                "endpoints that were posted on the admin socket are served until others are found"
            );
            if let Some(posted) = &self.posted {
                posted.posts.show(Some(post.endpoints));
            }
            let config = self.with_posted(computed);
            let before = std::mem::replace(&mut self.effective, config);
            self.publish_routes(&before).await;
        }
        // Who asked may be gone.
        post.answer.send(checked).ok();
    }

    /// A configuration that is computed, with the endpoints of the list that is served.
    pub(crate) fn with_posted(&mut self, computed: Config) -> Config {
        let Some(posted) = &mut self.posted else {
            return computed;
        };
        let Some(endpoints) = posted.posts.served() else {
            return computed;
        };
        let mut config = computed.clone();
        give_endpoints(&mut config, &endpoints);
        posted.computed = Some(computed);
        config
    }

    /// As in ingress-nginx, a change of any backend replaces the whole list. True if there was one.
    pub(crate) fn replace_posted(&mut self, updated: &Updated) -> bool {
        let Some(posted) = &mut self.posted else {
            return false;
        };
        if updated.backends.is_empty() || posted.computed.take().is_none() {
            return false;
        }
        posted.posts.show(None);
        info!("the endpoints that were posted on the admin socket are replaced");
        true
    }
}

/// Checks that each backend is served, and that each address that is new to it may be dialled.
fn check(
    posted: &PostedEndpoints,
    computed: &Config,
    policy: &AddressPolicy,
) -> Result<(), String> {
    for (id, addresses) in posted {
        let backend = computed.backends.get(id);
        let backend = backend.ok_or_else(|| format!("backend {id}: it is not served any more"))?;
        let is_known = |address: &SocketAddr| {
            let mut endpoints = backend.endpoints.iter();
            endpoints.any(|endpoint| endpoint.address == *address)
        };
        for address in addresses.iter().filter(|address| !is_known(address)) {
            check_address(id, *address, policy)?;
        }
    }
    Ok(())
}

/// Whatever the backend is for: it may take connections.
fn check_address(
    id: &BackendId,
    address: SocketAddr,
    policy: &AddressPolicy,
) -> Result<(), String> {
    let checked = policy.check_for(Carries::Anything, address, Provenance::Written);
    checked.map_err(|forbidden| format!("backend {id}: endpoint {address}: {forbidden}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::{Backend, Endpoint};

    use super::*;

    fn checked(name: &str, address: &str) -> Result<(), String> {
        let known = Endpoint::at("127.0.0.1:80".parse().unwrap());
        let backend = Backend {
            endpoints: vec![known],
            ..Backend::default()
        };
        let mut computed = Config::default();
        computed
            .backends
            .insert(BackendId::new("shop/a/80"), Arc::new(backend));
        let posted = [(BackendId::new(name), vec![address.parse().unwrap()])];
        let policy = AddressPolicy::default();
        check(&posted.into_iter().collect(), &computed, &policy)
    }

    #[test]
    fn addresses_obey_the_rules_of_those_in_objects() {
        assert_eq!(checked("shop/a/80", "10.0.0.1:80"), Ok(()));
        assert_eq!(checked("shop/a/80", "127.0.0.1:80"), Ok(()));
        for bad in [
            "127.0.0.1:81",
            "169.254.169.254:80",
            "[::1]:80",
            "0.0.0.0:80",
        ] {
            let reason = checked("shop/a/80", bad).unwrap_err();
            assert!(
                reason.starts_with("backend shop/a/80: endpoint "),
                "{reason}"
            );
        }
        assert!(checked("shop/b/80", "10.0.0.1:80").is_err());
    }
}
