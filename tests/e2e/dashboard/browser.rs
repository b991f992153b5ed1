//! A real browser.

use std::process::Command;

use anyhow::Result;
use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::json;
use sluice_tests::ports::Port;
use sluice_tests::process::Process;
use sluice_tests::{artifacts, wait};
use tempfile::TempDir;

/// A browser of this test's own, gone when dropped.
pub(super) struct Browser {
    pub(super) client: Client,
    _driver: Process,
    _port: Port,
    _profile: TempDir,
}

impl Browser {
    pub(super) async fn start() -> Result<Browser> {
        Browser::start_with(&[]).await
    }

    /// As a system says that is set to dark colours.
    pub(super) async fn start_dark() -> Result<Browser> {
        // 0 is dark, 1 is light.
        Browser::start_with(&["--blink-settings=preferredColorScheme=0"]).await
    }

    async fn start_with(more: &[&str]) -> Result<Browser> {
        let (port, profile) = (Port::reserve()?, tempfile::tempdir()?);
        let mut command = Command::new(artifacts::chromedriver()?);
        command.arg(format!("--port={}", port.number()));
        // What it leaves behind is gone with the profile.
        command.env("TMPDIR", profile.path());
        let driver = Process::spawn(command)?;
        let url = format!("http://127.0.0.1:{}", port.number());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1200,800",
        ];
        let profile_argument = format!("--user-data-dir={}", profile.path().display());
        let arguments: Vec<&str> = arguments
            .into_iter()
            .chain([profile_argument.as_str()])
            .chain(more.iter().copied())
            .collect();
        let mut capabilities = Capabilities::new();
        capabilities.insert(
            "goog:chromeOptions".to_owned(),
            json!({ "args": arguments }),
        );
        let connect = async || {
            let mut builder =
                ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
            builder.capabilities(capabilities.clone());
            builder.connect(&url).await.ok()
        };
        let (client, _) = wait::until("the browser", connect).await?;
        Ok(Browser {
            client,
            _driver: driver,
            _port: port,
            _profile: profile,
        })
    }

    pub(super) async fn text(&self, css: &str) -> Result<String> {
        let element = self.client.find(Locator::Css(css)).await?;
        Ok(element.text().await?)
    }

    /// Waits until a part of the page says this.
    pub(super) async fn wait_for(&self, css: &str, text: &str) -> Result<()> {
        let says = async || {
            let found = self.text(css).await.ok()?;
            found.contains(text).then_some(())
        };
        wait::until(&format!("{css} to say {text:?}"), says)
            .await
            .map(drop)
    }

    pub(super) async fn follow(&self, link: &str) -> Result<()> {
        // The page may be replaced by a newer one between the two.
        let follows = async || {
            let link = self.client.find(Locator::LinkText(link)).await.ok()?;
            link.click().await.ok()
        };
        wait::until(&format!("the link {link:?}"), follows)
            .await
            .map(drop)
    }

    /// Keys on an element.
    pub(super) async fn press(&self, element: Locator<'_>, keys: &str) -> Result<()> {
        let presses = async || {
            let element = self.client.find(element).await.ok()?;
            element.send_keys(keys).await.ok()
        };
        wait::until(&format!("{element:?}"), presses)
            .await
            .map(drop)
    }

    /// A picture for the documentation, where it is asked for.
    pub(super) async fn picture(&self, name: &str) -> Result<()> {
        let picture = self.client.screenshot().await?;
        if std::env::var_os("UPDATE_DOCS").is_some() {
            let place = artifacts::repository().join("docs/pictures");
            std::fs::write(place.join(format!("dashboard-{name}.png")), picture)?;
        }
        Ok(())
    }
}
