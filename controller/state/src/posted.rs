//! Endpoints that were posted on the admin socket, in the place of those that the controller has found.
//!
//! ```text
//!   admin --Posts::post--> publisher: checks, serves, answers --show--> Posts::served --> admin
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use sluice_ir::{Backend, BackendId, Config, Endpoint};
use tokio::sync::{mpsc, oneshot, watch};

/// Endpoints by backend: all that there are. A backend that is not there has none.
pub type PostedEndpoints = BTreeMap<BackendId, Vec<SocketAddr>>;

/// A list for the publisher.
#[derive(Debug)]
pub struct Post {
    /// The list.
    pub endpoints: PostedEndpoints,
    /// Takes the reason why it is not served.
    pub answer: oneshot::Sender<Result<(), String>>,
}

/// Lists on their way to the publisher, and the one that is served. A handle, cheap to clone.
#[derive(Clone, Debug)]
pub struct Posts {
    sender: mpsc::UnboundedSender<Post>,
    served: watch::Sender<Option<Arc<PostedEndpoints>>>,
}

impl Posts {
    /// A handle, and the lists that are posted with it.
    #[must_use]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Post>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let served = watch::Sender::default();
        (Posts { sender, served }, receiver)
    }

    /// Has a list served. The error is the reason why it is not.
    pub async fn post(&self, endpoints: PostedEndpoints) -> Result<(), String> {
        let (answer, answered) = oneshot::channel();
        let gone = || "the controller is stopping".to_owned();
        let post = Post { endpoints, answer };
        self.sender.send(post).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    /// The list that is served.
    #[must_use]
    pub fn served(&self) -> Option<Arc<PostedEndpoints>> {
        self.served.borrow().clone()
    }

    /// Shows the list that is served now.
    pub fn show(&self, served: Option<PostedEndpoints>) {
        self.served.send_replace(served.map(Arc::new));
    }
}

/// Gives the backends of `config` the endpoints of a list. Endpoints that terminate keep their sessions.
pub fn give_endpoints(config: &mut Config, posted: &PostedEndpoints) {
    let changed = config.backends.iter().filter_map(|(id, backend)| {
        let addresses = posted.get(id).map_or(&[][..], Vec::as_slice);
        let endpoints = endpoints(backend, addresses);
        let is_other = backend.endpoints != endpoints;
        let changed = || Backend {
            endpoints,
            ..Backend::clone(backend)
        };
        is_other.then(|| (id.clone(), Arc::new(changed())))
    });
    let changed: Vec<_> = changed.collect();
    config.backends.extend(changed);
}

fn endpoints(backend: &Backend, addresses: &[SocketAddr]) -> Vec<Endpoint> {
    let addresses: BTreeSet<&SocketAddr> = addresses.iter().collect();
    let own = backend.endpoints.iter();
    let known: BTreeSet<&SocketAddr> = own.clone().map(|endpoint| &endpoint.address).collect();
    let stays = |endpoint: &&Endpoint| endpoint.draining || addresses.contains(&endpoint.address);
    let staying = own.filter(stays).cloned();
    let new = addresses.difference(&known);
    let new = new.map(|address| Endpoint::at(**address));
    let mut all: Vec<Endpoint> = staying.chain(new).collect();
    all.sort_by_key(|endpoint| endpoint.address);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    fn config() -> Config {
        let mut config = Config::default();
        for name in ["shop/a/80", "shop/b/80"] {
            let draining = Endpoint {
                draining: true,
                ..Endpoint::at(address(9))
            };
            let heavy = Endpoint {
                weight: 7.try_into().unwrap(),
                ..Endpoint::at(address(1))
            };
            let backend = Backend {
                endpoints: vec![heavy, Endpoint::at(address(2)), draining],
                ..Backend::default()
            };
            config
                .backends
                .insert(BackendId::new(name), Arc::new(backend));
        }
        config
    }

    fn ports(config: &Config, name: &str) -> Vec<(u16, u16)> {
        let backend = config.backends.get(&BackendId::new(name)).unwrap();
        let endpoints = backend.endpoints.iter();
        endpoints
            .map(|it| (it.address.port(), it.weight.get()))
            .collect()
    }

    #[test]
    fn a_list_is_all_that_there_is_but_for_endpoints_that_terminate() {
        let mut changed = config();
        let posted = [(
            BackendId::new("shop/a/80"),
            vec![address(3), address(1), address(3)],
        )];
        give_endpoints(&mut changed, &posted.into_iter().collect());
        assert_eq!(ports(&changed, "shop/a/80"), [(1, 7), (3, 1), (9, 1)]);
        assert_eq!(ports(&changed, "shop/b/80"), [(9, 1)]);
    }

    #[test]
    fn the_list_that_is_shown_changes_nothing() {
        let mut same = config();
        let all = same.backends.keys().cloned();
        let posted = all.map(|id| (id, vec![address(2), address(1)])).collect();
        give_endpoints(&mut same, &posted);
        assert_eq!(same, config());
    }
}
