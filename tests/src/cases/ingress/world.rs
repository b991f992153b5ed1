//! One case's controller, data plane, pods and objects.

use std::collections::BTreeMap;
use std::mem;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::check::PublicPorts;
use super::control::Listeners;
use super::marker::Marker;
use super::model::Model;
use super::objects;
use super::pods::Pods;
use super::schema::Case;
use super::secrets::Secrets;
use super::stage::Stage;
use super::staged::{Staged, all_objects};
use super::{action, flags, idle};
use crate::cases::{Outcome, Selection};
use crate::dns_server::DnsServer;
use crate::sluice::Sluice;

/// A cookie that was kept, and the pod that answered when it was set.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its value.
    pub value: String,
    /// The pod.
    pub pod: Option<String>,
}

/// Everything that a case needs while it is played.
pub struct World {
    /// The expected state.
    pub model: Model,
    /// The pods.
    pub pods: Pods,
    /// Certificates and other secrets.
    pub secrets: Secrets,
    /// The controller.
    pub sluice: Sluice,
    /// How its ports look from outside.
    pub ports: PublicPorts,
    /// Cookies by name.
    pub cookies: BTreeMap<String, Kept>,
    /// The pod of the last answer.
    pub last_pod: Option<String>,
    /// The controller's own listeners.
    pub listeners: Listeners,
    /// The source of its objects.
    pub stage: Stage,
    marker: Option<Marker>,
    written: Vec<Value>,
    _dns: DnsServer,
}

impl World {
    /// Starts everything. What stands against that is an outcome of the case.
    pub async fn start(case: &Case, selection: &Selection) -> Result<World, Outcome> {
        let mut model = Model {
            given: case.given.clone(),
            missing: action::created_later(case),
            last: None,
        };
        if action::changes_settings(case) {
            model.given.configmap.get_or_insert_default();
        }
        let mut flags = flags::of(&model).map_err(Outcome::failed)?;
        flags.extend(selection.flags.iter().cloned());
        let may_change = action::are_in(case) || idle::is_plain(case, selection);
        let started = World::with(case, model, flags, &selection.data_plane, may_change).await;
        started.map_err(|error| Outcome::failed(format!("the world does not start: {error:#}")))
    }

    async fn with(
        case: &Case,
        model: Model,
        mut flags: Vec<String>,
        data_plane: &str,
        may_change: bool,
    ) -> Result<World> {
        let listeners = Listeners::for_case(case)?;
        flags.extend(listeners.arguments());
        let dns = DnsServer::start().await?;
        let [outside, _] = objects::OUTSIDE;
        dns.set(outside, 1, &["127.0.0.1"])?;
        // Pods of cases are on loopback, the one outside among them.
        let names = [
            "--dns-server",
            &dns.addr().to_string(),
            "--allow-upstream-cidr",
            "127.0.0.0/8",
        ];
        flags.extend(names.map(str::to_owned));
        let staged = Staged::new(case, model, may_change).await?;
        let sluice = staged
            .stage
            .options()
            .data_plane(data_plane)
            .arguments(flags)
            .start()
            .await?;
        let (http, https) = (sluice.http().port(), sluice.https().port());
        let (cookies, last_pod) = (BTreeMap::new(), None);
        Ok(World {
            ports: flags::public_ports(&staged.model, http, https),
            model: staged.model,
            pods: staged.pods,
            secrets: staged.secrets,
            sluice,
            cookies,
            last_pod,
            listeners,
            stage: staged.stage,
            marker: staged.marker,
            written: staged.written,
            _dns: dns,
        })
    }

    /// The same controller and data plane with the objects and pods of another case, which are served.
    pub async fn of_next(mut self, case: &Case) -> Result<World, Outcome> {
        self.model = Model {
            given: case.given.clone(),
            ..Model::default()
        };
        let pods = Pods::new(None).map(|pods| mem::replace(&mut self.pods, pods));
        (self.secrets, self.cookies, self.last_pod) = Default::default();
        let followed = match pods {
            // They run until nobody is sent to them any more.
            Ok(_before) => self.follow().await,
            Err(error) => Err(error),
        };
        match followed {
            Ok(()) => Ok(self),
            Err(error) => Err(Outcome::failed(format!(
                "the world of the case before does not change: {error:#}"
            ))),
        }
    }

    /// Makes the world follow its model, and waits until that is served.
    pub async fn follow(&mut self) -> Result<()> {
        let surplus = self
            .pods
            .follow(&self.model, &mut self.secrets.authorities)
            .await?;
        let places = self.pods.places();
        let without_marker = all_objects(&self.model, &mut self.secrets, &places, None)?;
        let only_endpoints = differs_in_endpoints_only(&self.written, &without_marker);
        let Some(marker) = &mut self.marker else {
            bail!("a world without actions does not change")
        };
        marker.advance(only_endpoints);
        self.written = without_marker;
        let mut all = self.written.clone();
        all.extend(marker.objects(&self.model));
        self.stage.put(&all)?;
        let setting = |name: &str| {
            self.model
                .given
                .configmap
                .as_ref()
                .and_then(|map| map.get(name))
        };
        let proxy = setting("use-proxy-protocol").is_some_and(|value| value == "true");
        let line = proxy.then_some("PROXY TCP4 127.0.0.1 127.0.0.1 1 1");
        let served = marker.served(self.sluice.http(), line).await;
        served
            .with_context(|| format!("the controller's log ends\n{}", self.sluice.log().tail()))?;
        // Nobody is sent to them any more.
        drop(surplus);
        Ok(())
    }
}

fn differs_in_endpoints_only(before: &[Value], now: &[Value]) -> bool {
    let others = |objects: &[Value]| -> Vec<Value> {
        let is_other = |object: &&Value| object["kind"] != "EndpointSlice" && !is_marker(object);
        objects.iter().filter(is_other).cloned().collect()
    };
    others(before) == others(now)
}

fn is_marker(object: &Value) -> bool {
    object["metadata"]["name"]
        .as_str()
        .is_some_and(|name| name.starts_with("sluice-cases-"))
}
