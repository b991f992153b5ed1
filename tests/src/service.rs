//! A Service: new connections go to whoever is ready, as kube-proxy sends them.
//!
//! It knows what the kubelet knows, by asking for it, and no more: whoever leaves without saying so first is sent
//! connections that nobody answers.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::http;
use crate::ports::Port;
use crate::wait;

/// How often it is asked who is ready. The kubelet is slower; so are grace periods in clusters.
const PERIOD: Duration = Duration::from_millis(100);

/// Listens until it is dropped.
pub struct Service {
    port: Port,
    replicas: Arc<Mutex<Vec<Arc<Replica>>>>,
    tasks: [JoinHandle<()>; 2],
}

struct Replica {
    addr: SocketAddr,
    health: SocketAddr,
    ready: AtomicBool,
}

impl Service {
    /// One without replicas.
    pub async fn start() -> Result<Service> {
        let port = Port::reserve()?;
        let listener = TcpListener::bind(port.addr()).await.context("service")?;
        let replicas = Arc::new(Mutex::default());
        let tasks = [
            tokio::spawn(accept(listener, Arc::clone(&replicas))),
            tokio::spawn(probe(Arc::clone(&replicas))),
        ];
        Ok(Service {
            port,
            replicas,
            tasks,
        })
    }

    /// The address for clients.
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// A replica that serves here and answers `/healthz` there; returns when it is ready.
    pub async fn add(&self, addr: SocketAddr, health: SocketAddr) -> Result<()> {
        let replica = Arc::new(Replica {
            addr,
            health,
            ready: AtomicBool::new(false),
        });
        held(&self.replicas).push(Arc::clone(&replica));
        let ready = async || replica.ready.load(Ordering::Relaxed).then_some(());
        wait::until("the replica to be ready", ready)
            .await
            .map(drop)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn probe(replicas: Arc<Mutex<Vec<Arc<Replica>>>>) {
    loop {
        let all = held(&replicas).clone();
        for replica in all {
            let answer = http::get(replica.health, "health", "/healthz").await;
            replica.ready.store(
                answer.is_ok_and(|page| page.status == 200),
                Ordering::Relaxed,
            );
        }
        tokio::time::sleep(PERIOD).await;
    }
}

async fn accept(listener: TcpListener, replicas: Arc<Mutex<Vec<Arc<Replica>>>>) {
    let turn = AtomicUsize::new(0);
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let ready: Vec<SocketAddr> = held(&replicas)
            .iter()
            .filter(|replica| replica.ready.load(Ordering::Relaxed))
            .map(|replica| replica.addr)
            .collect();
        // With nobody ready, the client sees a connection that ends.
        let Some(addr) = ready
            .get(turn.fetch_add(1, Ordering::Relaxed) % ready.len().max(1))
            .copied()
        else {
            continue;
        };
        connections.spawn(async move {
            if let Ok(mut server) = TcpStream::connect(addr).await {
                // How a connection ends is the business of its two ends.
                copy_bidirectional(&mut client, &mut server).await.ok();
            }
        });
    }
}
