//! The memory of a proxy, and that of connections which wait for their next request.

use anyhow::{Context, Result};

use super::client::Client;
use super::contender::{self, Contender};
use super::site::Site;
use super::{PREFIX, Protocol};
use crate::row::{Measured, Row};

const CONNECTIONS: usize = 1000;

/// Plain and with TLS.
pub(crate) struct PeersIdle(pub(crate) Protocol);

impl PeersIdle {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let rows = |contender: Contender| self.rows_of(contender);
        Contender::ALL.into_iter().flat_map(rows).collect()
    }

    fn rows_of(&self, contender: Contender) -> [Row; 2] {
        let (protocol, contender) = (self.0.name(), contender.name());
        let row = |of: &str, unit| Row::new(format!("{PREFIX}{of}/{protocol}/{contender}"), unit);
        [row("memory_mb", "MB"), row("idle_connection_kb", "KB")]
    }

    pub(crate) async fn run(&self) -> Result<Vec<Measured>> {
        let site = Site::start().await?;
        let mut rows = Vec::new();
        for contender in contender::present()? {
            let measured = self.of(contender, &site).await;
            rows.extend(measured.with_context(|| contender.name())?);
        }
        Ok(rows)
    }

    async fn of(&self, contender: Contender, site: &Site) -> Result<[Measured; 2]> {
        let running = contender.start(site, self.0).await?;
        // Memory for the first requests is not counted as that of idle connections.
        exchange_each(Client::open(self.0, &running, 20).await?).await?;
        let before = running.memory()?;
        let clients = exchange_each(Client::open(self.0, &running, CONNECTIONS).await?).await?;
        let more = running.memory()?.saturating_sub(before);
        drop(clients);
        let [memory, connection] = self.rows_of(contender);
        Ok([
            memory.measured(before as f64 / 1e6, 1),
            connection.measured(more as f64 / 1e3 / CONNECTIONS as f64, CONNECTIONS),
        ])
    }
}

/// One after the other: no more connections to pods than one request needs.
async fn exchange_each(mut clients: Vec<Client>) -> Result<Vec<Client>> {
    for client in &mut clients {
        client.exchange().await?;
    }
    Ok(clients)
}
