//! The steps of the demo: even traffic, a change of endpoints, the verdict.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sluice_tests::http::Request;
use sluice_tests::load::{Load, Running};
use sluice_tests::tally::Tally;

use crate::scene::{HOST, JOINS, LEAVES, Scene};
use crate::table::{Screen, number};

const FRAME: Duration = Duration::from_millis(100);
/// A pod that was silent this long while others answered is out of the rotation.
const SILENCE: Duration = Duration::from_millis(400);
const TIMEOUT: Duration = Duration::from_secs(5);

/// The load that runs through all of it, and the picture of it.
pub(crate) struct Story<'a> {
    scene: &'a Scene<'a>,
    load: Running,
    screen: Screen,
}

impl<'a> Story<'a> {
    pub(crate) fn new(scene: &'a Scene<'a>) -> Story<'a> {
        let addr = scene.sluice.http();
        let pause = Duration::from_millis(10);
        let load = Load::new(addr, Request::get(HOST, "/"))
            .connections(4)
            .pause(pause)
            .start();
        let mut screen = Screen::new(&format!(
            "http://{HOST}:{}/  →  {}  →  {} pods of hello",
            addr.port(),
            scene.data_plane.name(),
            scene.pods.len() - 1
        ));
        for pod in &scene.pods {
            screen.pod(pod.name(), pod.addr());
        }
        Story {
            scene,
            load,
            screen,
        }
    }

    /// Shows the traffic for a while.
    pub(crate) async fn even_traffic(&mut self, briefly: bool) -> Result<()> {
        self.play(Duration::from_millis(if briefly { 800 } else { 4000 }))
            .await;
        let tally = self.load.tally();
        let absent = self
            .scene
            .pods
            .iter()
            .take(JOINS)
            .find(|pod| tally.pod(pod.name()) == 0);
        ensure!(
            absent.is_none(),
            "a pod got no request: {tally}\n{}",
            self.scene.sluice.log().tail()
        );
        self.screen
            .event(&format!("even traffic: {} requests", number(tally.total())));
        Ok(())
    }

    /// Changes the manifest and waits until the traffic has followed.
    pub(crate) async fn change_endpoints(&mut self) -> Result<()> {
        let (joins, leaves) = (
            self.scene.pods[JOINS].name(),
            self.scene.pods[LEAVES].name(),
        );
        let changed = Instant::now();
        self.scene.change_endpoints().await?;
        let name = self.scene.stage.endpoints_name();
        self.screen
            .event(&format!("{name} changed: + {joins}, − {leaves}"));
        let tally = loop {
            self.play(FRAME).await;
            let tally = self.load.tally();
            if followed(&tally, joins, leaves) {
                break tally;
            }
            ensure!(
                changed.elapsed() < TIMEOUT,
                "traffic did not follow the change: {tally}\n{}",
                self.scene.sluice.log().tail()
            );
        };
        let millis = |at: Instant| at.saturating_duration_since(changed).as_millis();
        let (first, last) = (tally.by_pod[joins].first, tally.by_pod[leaves].last);
        self.screen.event(&format!(
            "traffic followed: {joins} answers after {} ms, {leaves} was last asked after {} ms",
            millis(first),
            millis(last)
        ));
        Ok(())
    }

    /// Not one request may have failed, and endpoints are no reason to reload an nginx.
    pub(crate) fn verdict(&mut self) -> Result<()> {
        let tally = self.load.tally();
        ensure!(tally.failed() == 0, "requests failed: {tally}");
        let log = self.scene.sluice.log();
        ensure!(
            !log.lines()
                .iter()
                .any(|line| line.contains("reloading nginx")),
            "nginx reloaded: {}",
            log.tail()
        );
        self.screen.event(&format!(
            "no restart, no reload, and 0 of {} requests failed",
            number(tally.total())
        ));
        Ok(())
    }

    /// Ends a check.
    pub(crate) async fn end(mut self) -> Result<()> {
        self.screen.draw(&self.load.tally(), true);
        let tally = self.load.stop().await?;
        ensure!(tally.failed() == 0, "requests failed: {tally}");
        Ok(())
    }

    /// Goes on until the user has seen enough.
    pub(crate) async fn invite(mut self) -> Result<()> {
        let port = self.scene.sluice.http().port();
        self.screen.note(&[
            format!("try   curl http://{HOST}:{port}/"),
            format!("      curl -H 'Host: {HOST}' http://127.0.0.1:{port}/any/path"),
            self.scene.stage.invitation(),
            "end   Ctrl-C".to_owned(),
        ]);
        loop {
            self.play(Duration::from_secs(1)).await;
        }
    }

    async fn play(&mut self, duration: Duration) {
        let start = Instant::now();
        while start.elapsed() < duration {
            self.screen.draw(&self.load.tally(), false);
            tokio::time::sleep(FRAME.min(duration)).await;
        }
    }
}

fn followed(tally: &Tally, joins: &str, leaves: &str) -> bool {
    let silent = tally
        .by_pod
        .get(leaves)
        .is_none_or(|pod| pod.last.elapsed() > SILENCE);
    silent && tally.pod(joins) > 0
}
