//! R6: a guard holds however a request is written and whatever it asks for beside: its spelling, its version, an `Upgrade`.
//!
//! One table says what a path means (`spellings.rs`), one which guards there are (`guards.rs`), one how a request is sent
//! (`forms.rs`); what is expected follows from all three.

mod controls;
mod forms;
mod forwarded_paths;
mod spellings;
mod upgrades;

use anyhow::{Result, bail, ensure};
use sluice_tests::http::Response;
use sluice_tests::sluice::Sluice;

use crate::setup::{OWNER, Plane, on_every_plane};
use controls::{ACCESS_CONTROLS, AccessControl, Fixture, Kind};
use forms::{FORMS, Form};
use spellings::{Meaning, SPELLINGS, Spelling};

on_every_plane!(
    access_control_holds_for_every_spelling_of_a_path,
    rate_limit_counts_all_spellings_together,
    client_certificate_is_required_for_every_spelling,
);

async fn access_control_holds_for_every_spelling_of_a_path(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    let sluice = fixture.serve(plane).await?;
    let mut wrong = Vec::new();
    for control in ACCESS_CONTROLS {
        for kind in control.kinds {
            for form in FORMS {
                for spelling in SPELLINGS
                    .iter()
                    .filter(|spelling| form.can_say(spelling.target, plane))
                {
                    if let Err(error) =
                        ensure_holds(&sluice, plane, control, *kind, *form, spelling).await
                    {
                        wrong.push(format!(
                            "{} {kind:?} {form:?} {:?}: {error:#}",
                            control.name, spelling.target
                        ));
                    }
                }
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    sluice.stop()
}

async fn ensure_holds(
    sluice: &Sluice,
    plane: Plane,
    control: &AccessControl,
    kind: Kind,
    form: Form,
    spelling: &Spelling,
) -> Result<()> {
    let meaning = spelling.meaning(plane);
    let is_guarded = matches!(meaning, Meaning::Path(path) if kind.is_protected(path));
    // To Envoy what follows an upgrade is no body before its pod agrees, and this pod does not.
    if form == Form::Upgrade
        && control.has_body
        && matches!(meaning, Meaning::Path(_))
        && !is_guarded
    {
        return Ok(());
    }
    let answer = form
        .send(sluice, &control.request(kind, spelling.target))
        .await?;
    match meaning {
        Meaning::Nothing => ensure_denied(&answer, 400),
        Meaning::Path(_) if is_guarded => ensure_denied(&answer, control.status),
        // Envoy does not pass on what a pod says that does not agree to an upgrade.
        Meaning::Path(_) if form == Form::Upgrade && plane != Plane::Nginx => {
            ensure_reached(&answer)
        }
        Meaning::Path(_) => ensure_served(&answer, plane, spelling),
    }
}

fn ensure_denied(answer: &Response, status: u16) -> Result<()> {
    ensure!(
        answer.pod().is_none(),
        "reaches the pod, as {:?}",
        target_of(answer)
    );
    ensure!(
        answer.status == status,
        "expected {status}, got {}",
        answer.status
    );
    Ok(())
}

fn ensure_reached(answer: &Response) -> Result<()> {
    ensure!(
        answer.pod() == Some(OWNER),
        "expected to be served, got {}",
        answer.status
    );
    Ok(())
}

fn ensure_served(answer: &Response, plane: Plane, spelling: &Spelling) -> Result<()> {
    ensure_reached(answer)?;
    let seen = target_of(answer)?;
    if plane == Plane::Nginx || spelling.arrives_as_sent() {
        ensure!(seen == spelling.target, "arrives as {seen}");
    }
    Ok(())
}

/// The target that a pod received.
fn target_of(answer: &Response) -> Result<String> {
    let seen = answer.json()?;
    let Some(path) = seen["path"].as_str() else {
        bail!("no path in {seen}")
    };
    let query = seen["query"]
        .as_str()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    Ok(format!("{path}{query}"))
}

/// Two requests may come at once, and no spelling makes many.
async fn rate_limit_counts_all_spellings_together(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    let sluice = fixture.serve(plane).await?;
    let mut served = 0;
    let guarded = SPELLINGS
        .iter()
        .filter(|spelling| match spelling.meaning(plane) {
            Meaning::Path(path) => Kind::Prefix.is_protected(path),
            Meaning::Nothing => false,
        });
    let started = std::time::Instant::now();
    for spelling in guarded {
        let request = controls::RATE_LIMIT.request(Kind::Prefix, spelling.target);
        let answer = Form::Http11.send(&sluice, &request).await?;
        ensure!(
            [200, 503].contains(&answer.status),
            "{:?}: {}",
            spelling.target,
            answer.status
        );
        served += u64::from(answer.pod().is_some());
    }
    // One a minute, and a burst of one.
    let allowed = 2 + started.elapsed().as_secs() / 60;
    ensure!((1..=allowed).contains(&served), "{served} are served");
    sluice.stop()
}

async fn client_certificate_is_required_for_every_spelling(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    let sluice = fixture.serve(plane).await?;
    let mut wrong = Vec::new();
    for form in [Form::Tls, Form::Http2] {
        for spelling in SPELLINGS
            .iter()
            .filter(|spelling| form.can_say(spelling.target, plane))
        {
            let answer = form
                .send(
                    &sluice,
                    &controls::CLIENT_CERTIFICATE.request(Kind::Prefix, spelling.target),
                )
                .await?;
            if let Err(error) = ensure_denied(&answer, 400) {
                wrong.push(format!("{form:?} {:?}: {error:#}", spelling.target));
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    sluice.stop()
}
