//! The dashboard of a running controller, in a real browser.

mod browser;
mod endpoints;
mod pictures;

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fantoccini::Locator;
use fantoccini::key::Key;
use serde_json::json;
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Port;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{artifacts, wait};

use crate::fixture::Fixture;
use browser::Browser;

/// URL with the token.
fn url(sluice: &Sluice) -> Result<String> {
    let mut command = Command::new(artifacts::sluice()?);
    let output = command
        .args(["dbg", "dashboard", "--admin-socket"])
        .arg(sluice.admin_socket())
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn options(fixture: &Fixture, port: &Port) -> Options {
    let flag = format!("--dashboard-port={}", port.number());
    let arguments = vec![flag, "--enable-metrics".to_owned()];
    Options::new(&fixture.manifests).arguments(arguments)
}

/// A browser on the page of the Ingress, connected.
async fn page_of_the_ingress(sluice: &Sluice, port: &Port) -> Result<Browser> {
    let browser = Browser::start().await?;
    browser.client.goto(&url(sluice)?).await?;
    let page = format!("http://127.0.0.1:{}/ingresses/default/web", port.number());
    browser.client.goto(&page).await?;
    browser.wait_for("#live", "live").await?;
    Ok(browser)
}

/// Waits until an address has left the page, without a navigation.
async fn leaves_the_page(browser: &Browser, address: &str) -> Result<()> {
    let is_gone = async || {
        let text = browser.text("main").await.ok()?;
        (!text.contains(address)).then_some(())
    };
    let what = format!("{address} to leave the page");
    wait::until(&what, is_gone).await.map(drop)
}

fn overview_has_the_envoy(text: &str) -> Result<()> {
    let acknowledged = "after the change, acknowledged by all Envoys after";
    for expected in ["1.40.0", "connected for", acknowledged] {
        ensure!(text.contains(expected), "{expected}: {text}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_shows_what_is_served_and_follows_changes() -> Result<()> {
    let (fixture, port) = (Fixture::start(2, 2).await?, Port::reserve()?);
    let sluice = options(&fixture, &port).start().await?;
    let browser = Browser::start().await?;
    browser.client.goto(&url(&sluice)?).await?;
    browser.wait_for("#live", "live").await?;
    browser.wait_for("main", "up to date").await?;
    overview_has_the_envoy(&browser.text("main").await?)?;
    let here = browser.client.current_url().await?;
    ensure!(here.query().is_none(), "the token stays in {here}");

    browser.follow("Ingresses").await?;
    browser.wait_for("tbody", "default/web").await?;
    browser.follow("default/web").await?;
    browser.wait_for("main", "web.test").await?;
    browser
        .wait_for("main", &fixture.pods[1].addr().to_string())
        .await?;
    // Without a navigation: the page hears of the change.
    fixture.endpoints(&[0])?;
    let gone = fixture.pods[1].addr().to_string();
    leaves_the_page(&browser, &gone).await?;

    let unsupported = Ingress::new("default", "odd").host("odd.test");
    let unsupported = unsupported.annotation("proxy-body-size", "<b>much</b>");
    fixture
        .manifests
        .ingress(&unsupported.path("/", "web", 80))?;
    browser
        .client
        .goto(&format!(
            "http://127.0.0.1:{}/ingresses?q=odd",
            port.number()
        ))
        .await?;
    browser.wait_for("tbody", "default/odd").await?;
    browser.follow("default/odd").await?;
    browser.wait_for("main", "<b>much</b>").await?;

    browser
        .client
        .goto(&format!("http://127.0.0.1:{}/explain", port.number()))
        .await?;
    let url = Locator::Id("url");
    browser.press(url, "http://web.test/cart").await?;
    browser.press(url, &Key::Enter.to_string()).await?;
    browser
        .wait_for("main", "Service default/web port 80")
        .await?;
    browser.client.clone().close().await?;
    Ok(())
}

/// Also those of which nobody said so: the page is there before its connection, and the connection may break.
#[tokio::test(flavor = "multi_thread")]
async fn dashboard_has_changes_from_before_its_connection() -> Result<()> {
    let (fixture, port) = (Fixture::start(2, 2).await?, Port::reserve()?);
    let sluice = options(&fixture, &port).start().await?;
    let browser = page_of_the_ingress(&sluice, &port).await?;
    let gone = fixture.pods[1].addr().to_string();
    browser.wait_for("main", &gone).await?;

    browser
        .client
        .execute("changes.close()", Vec::new())
        .await?;
    fixture.endpoints(&[0])?;
    let hits = async || {
        let before = fixture.pods[1].hits();
        for _ in 0..4 {
            sluice.get("web.test", "/").await.ok()?;
        }
        (fixture.pods[1].hits() == before).then_some(())
    };
    wait::until("the endpoint to get no requests", hits).await?;
    ensure!(browser.text("main").await?.contains(&gone), "it is closed");
    let connects = "changes.dispatchEvent(new Event('open'))";
    browser.client.execute(connects, Vec::new()).await?;
    leaves_the_page(&browser, &gone).await?;
    browser.client.clone().close().await?;
    Ok(())
}

/// Without a navigation, as they are served.
async fn requests_of_an_endpoint_are_counted(data_plane: &str) -> Result<()> {
    let (fixture, port) = (Fixture::start(1, 1).await?, Port::reserve()?);
    let sluice = options(&fixture, &port)
        .data_plane(data_plane)
        .start()
        .await?;
    let browser = page_of_the_ingress(&sluice, &port).await?;
    let row = fixture.pods[0].addr().to_string();
    browser.wait_for("table:last-of-type tbody", &row).await?;
    for _ in 0..7 {
        sluice.get("web.test", "/").await?;
    }
    let served = fixture.pods[0].hits().to_string();
    browser
        .wait_for("table:last-of-type td:nth-child(3)", &served)
        .await?;
    browser
        .wait_for("table:last-of-type td:nth-child(5)", " ms")
        .await?;
    browser.client.clone().close().await?;
    Ok(())
}

/// Elements that a reader has opened and focused stay so when the page is fetched again, and a page that is gone says so.
#[tokio::test(flavor = "multi_thread")]
async fn dashboard_leaves_its_reader_alone() -> Result<()> {
    let (fixture, port) = (Fixture::start(1, 1).await?, Port::reserve()?);
    let policy = Ingress::new("default", "web").host("web.test");
    let policy = policy
        .annotation("proxy-body-size", "2m")
        .path("/", "web", 80);
    fixture.manifests.ingress(&policy)?;
    let sluice = options(&fixture, &port).start().await?;
    let browser = page_of_the_ingress(&sluice, &port).await?;
    let enter = Key::Enter.to_string();
    browser.press(Locator::Css("summary"), &enter).await?;
    browser.wait_for("details[open]", "max_body_size").await?;
    sluice.get("web.test", "/").await?;
    let served = fixture.pods[0].hits().to_string();
    browser
        .wait_for("table:last-of-type td:nth-child(3)", &served)
        .await?;
    browser.wait_for("details[open]", "max_body_size").await?;
    let focused = browser.client.active_element().await?;
    ensure!(focused.tag_name().await? == "summary");
    fixture.manifests.remove_object(&policy.to_json())?;
    browser
        .wait_for("main", "There is none of this name")
        .await?;
    browser.client.clone().close().await?;
    Ok(())
}

/// Cookies know no ports.
#[tokio::test(flavor = "multi_thread")]
async fn two_dashboards_are_open_in_one_browser() -> Result<()> {
    let (fixture, ports) = (
        Fixture::start(1, 1).await?,
        [Port::reserve()?, Port::reserve()?],
    );
    let browser = Browser::start().await?;
    let mut all = Vec::new();
    for port in &ports {
        let sluice = options(&fixture, port).start().await?;
        browser.client.goto(&url(&sluice)?).await?;
        browser.wait_for("h1", "Overview").await?;
        all.push(sluice);
    }
    for port in &ports {
        let page = format!("http://127.0.0.1:{}/refused", port.number());
        browser.client.goto(&page).await?;
        browser.wait_for("h1", "Refused configuration").await?;
    }
    browser.client.clone().close().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_counts_requests_of_envoy() -> Result<()> {
    requests_of_an_endpoint_are_counted("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_counts_requests_of_nginx() -> Result<()> {
    requests_of_an_endpoint_are_counted("nginx").await
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_is_used_without_a_mouse() -> Result<()> {
    let (fixture, port) = (Fixture::start(1, 1).await?, Port::reserve()?);
    let sluice = options(&fixture, &port).start().await?;
    let browser = Browser::start().await?;
    browser.client.goto(&url(&sluice)?).await?;
    browser.wait_for("#live", "live").await?;
    let press = async |key: &str| -> Result<()> {
        let focused = browser.client.active_element().await?;
        Ok(focused.send_keys(key).await?)
    };
    let focus =
        async || -> Result<String> { Ok(browser.client.active_element().await?.text().await?) };
    let tab = Key::Tab.to_string();
    press(&tab).await?;
    ensure!(focus().await? == "Skip to content", "{}", focus().await?);
    for page in [
        "Overview",
        "Ingresses",
        "Certificates",
        "Refused",
        "Explain",
    ] {
        press(&tab).await?;
        ensure!(focus().await? == page, "{page}: {}", focus().await?);
    }
    press(&Key::Enter.to_string()).await?;
    browser.wait_for("h1", "Explain a request").await?;
    // Every field has a name, and every table says what it is, for who hears the page.
    for path in [
        "",
        "ingresses",
        "ingresses/default/web",
        "certificates",
        "refused",
        "explain",
    ] {
        browser
            .client
            .goto(&format!("http://127.0.0.1:{}/{path}", port.number()))
            .await?;
        let unnamed = "return document.querySelectorAll('input:not(label input):not([type=hidden]), textarea:not(label textarea), table:not(:has(caption)), \
                       th:not([scope]), html:not([lang])').length + (document.querySelectorAll('h1').length - 1)";
        let unnamed = browser.client.execute(unnamed, Vec::new()).await?;
        ensure!(unnamed == json!(0), "{path}: {unnamed}");
        // No line of a page is wider than a phone: tables wrap.
        let wide =
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        browser.client.set_window_size(400, 800).await?;
        let wide = browser.client.execute(wide, Vec::new()).await?;
        ensure!(
            wide.as_i64().context("a width")? <= 0,
            "{path}: {wide} pixels too wide"
        );
    }
    browser.client.clone().close().await?;
    Ok(())
}

/// Its process, its version, and when it loaded the configuration.
#[tokio::test(flavor = "multi_thread")]
async fn dashboard_shows_what_nginx_has_loaded() -> Result<()> {
    let (fixture, port) = (Fixture::start(1, 1).await?, Port::reserve()?);
    let sluice = options(&fixture, &port).data_plane("nginx").start().await?;
    let browser = Browser::start().await?;
    browser.client.goto(&url(&sluice)?).await?;
    browser.wait_for("main", "up to date").await?;
    let row = browser.text("tbody tr").await?;
    for expected in ["nginx (pid ", "workers: ", " 1.", "configuration loaded "] {
        ensure!(row.contains(expected), "{expected}: {row}");
    }
    let took = browser.text("main dl").await?;
    ensure!(took.contains("loaded by nginx after "), "{took}");
    browser.client.clone().close().await?;
    Ok(())
}

/// As the system says. Each text is readable on its ground: the contrast that WCAG asks for.
#[tokio::test(flavor = "multi_thread")]
async fn dashboard_is_light_or_dark_as_the_system_says() -> Result<()> {
    let (fixture, port) = (Fixture::start(1, 1).await?, Port::reserve()?);
    let sluice = options(&fixture, &port).start().await?;
    for (browser, expected) in [
        (Browser::start().await?, "rgb(255, 255, 255)"),
        (Browser::start_dark().await?, "rgb(13, 17, 23)"),
    ] {
        browser.client.goto(&url(&sluice)?).await?;
        browser.wait_for("main", "up to date").await?;
        let ground = "return getComputedStyle(document.body).backgroundColor";
        let ground = browser.client.execute(ground, Vec::new()).await?;
        ensure!(ground == json!(expected), "{ground}");
        let pale = browser.client.execute(PALE, Vec::new()).await?;
        ensure!(pale == json!([]), "{expected}: {pale}");
        browser.client.clone().close().await?;
    }
    Ok(())
}

/// Colours of the style sheet whose contrast to the ground is below 4.5.
const PALE: &str = "
    const style = getComputedStyle(document.documentElement);
    const luminance = name => {
        const text = style.getPropertyValue(name).trim().slice(1);
        const parts = [0, 2, 4].map(at => parseInt(text.slice(at, at + 2), 16) / 255);
        const linear = parts.map(it => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4);
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    return ['--text', '--soft', '--accent', '--error', '--warning', '--good'].filter(name => {
        const both = [luminance(name), luminance('--ground')].sort((one, other) => other - one);
        return !((both[0] + 0.05) / (both[1] + 0.05) >= 4.5);
    });
";

#[tokio::test(flavor = "multi_thread")]
async fn without_a_port_there_is_no_dashboard() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let error = url(&sluice).err().context("there is one")?;
    ensure!(error.to_string().contains("--dashboard-port"), "{error}");
    tokio::time::timeout(Duration::from_secs(9), sluice.get("web.test", "/")).await??;
    Ok(())
}
