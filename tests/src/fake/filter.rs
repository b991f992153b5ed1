//! The shipped filter in a fake host, driven the way a host drives it.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use sluice_filter_config::{Control, Host, PluginConfig, Tables};
use sluice_wasm_host::{
    Action, Context, ContextId, Options, Plugin, Unimplemented, Vm, engine_config, metered_config,
    wasmtime,
};

use super::host::FakeHost;
use super::precompiled;
use super::request::{Call, Personality, Request};

/// The outcome of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on, to these candidates.
    Forwarded(String),
    /// It goes on, and the data plane chooses.
    LeftAlone,
    /// The filter has answered.
    Replied(u32),
    /// It waits.
    Paused,
}

/// The filter in its host.
pub struct Filter {
    /// The VM, with the host in it.
    pub vm: Vm<FakeHost>,
    /// The newest root context.
    pub root: Context,
    open: BTreeMap<ContextId, Context>,
}

fn module() -> &'static wasmtime::Module {
    static MODULE: OnceLock<wasmtime::Module> = OnceLock::new();
    MODULE.get_or_init(|| {
        let engine = wasmtime::Engine::new(&engine_config()).unwrap();
        precompiled::load(&engine, &crate::artifacts::compiled_filter().unwrap()).unwrap()
    })
}

/// The same, in an engine that counts instructions.
fn metered() -> &'static wasmtime::Module {
    static MODULE: OnceLock<wasmtime::Module> = OnceLock::new();
    MODULE.get_or_init(|| {
        let engine = wasmtime::Engine::new(&metered_config()).unwrap();
        precompiled::load(&engine, &crate::artifacts::metered_filter().unwrap()).unwrap()
    })
}

impl Filter {
    /// A filter with these tables whose instructions are counted, and which has no more than this much memory.
    pub fn metered(personality: Personality, tables: Tables, memory_bytes: usize) -> Self {
        let options = Options {
            memory_bytes,
            ..Options::default()
        };
        let mut filter = Self::start_with(metered(), options, FakeHost::new(personality), true);
        assert!(filter.configure(&PluginConfig {
            tables: Some(tables),
            ..filter.bootstrap_config(false)
        }));
        filter
    }

    /// The instructions that something takes.
    pub fn instructions(&mut self, work: impl FnOnce(&mut Self)) -> u64 {
        let before = self.vm.instructions().expect("a metered filter");
        work(self);
        self.vm.instructions().unwrap_or_default() - before
    }

    /// A filter that has started, and was told nothing yet.
    pub fn new(personality: Personality) -> Self {
        Self::on(FakeHost::new(personality))
    }

    /// The same on this host.
    pub fn on(host: FakeHost) -> Self {
        Self::start(host, true)
    }

    /// One that takes the place of another which trapped, where a host does not say that it starts.
    pub fn replacing(personality: Personality) -> Self {
        Self::start(FakeHost::new(personality), false)
    }

    fn start(host: FakeHost, is_told: bool) -> Self {
        let unimplemented = match host.personality {
            Personality::Envoy => Unimplemented::ReturnStatus,
            Personality::Nginx => Unimplemented::Trap,
        };
        Self::start_with(
            module(),
            Options {
                unimplemented,
                ..Options::default()
            },
            host,
            is_told,
        )
    }

    fn start_with(
        module: &wasmtime::Module,
        options: Options,
        host: FakeHost,
        is_told: bool,
    ) -> Self {
        let plugin = Plugin::new(module, options).unwrap();
        let mut vm = Vm::new(&plugin, host).unwrap();
        let root = vm.create_root().unwrap();
        assert!(!is_told || vm.on_vm_start(&root, 0).unwrap());
        Filter {
            vm,
            root,
            open: BTreeMap::new(),
        }
    }

    /// A filter whose tables come with the bootstrap configuration.
    pub fn with(personality: Personality, tables: Tables) -> Self {
        let mut filter = Self::new(personality);
        assert!(filter.configure(&PluginConfig {
            tables: Some(tables),
            ..filter.bootstrap_config(false)
        }));
        filter
    }

    /// A filter that was only told where the log is, and has sent its first poll.
    pub fn polling(personality: Personality) -> Self {
        let mut filter = Self::new(personality);
        let bootstrap_config = filter.bootstrap_config(true);
        assert!(filter.configure(&bootstrap_config));
        filter.tick();
        assert_eq!(
            filter.calls().len(),
            1,
            "one poll is in flight, however often it ticks"
        );
        filter
    }

    /// A bootstrap configuration for this host, without tables.
    pub fn bootstrap_config(&self, with_control: bool) -> PluginConfig {
        let host = match self.host().personality {
            Personality::Envoy => Host::Envoy,
            Personality::Nginx => Host::Nginx,
        };
        let control = Control {
            upstream: "controller".into(),
            authority: "sluice".into(),
        };
        PluginConfig {
            host: Some(host),
            control: with_control.then_some(control),
            ..PluginConfig::empty()
        }
    }

    /// Configures it; `false` when it refuses.
    pub fn configure(&mut self, config: &PluginConfig) -> bool {
        self.configure_bytes(&config.to_json())
    }

    /// The same with any bytes.
    pub fn configure_bytes(&mut self, bytes: &[u8]) -> bool {
        let host = self.vm.env_mut();
        host.configuration = bytes.to_vec();
        host.configuring = true;
        let accepted = self
            .vm
            .on_configure(&self.root, u32::try_from(bytes.len()).unwrap())
            .unwrap();
        self.vm.env_mut().configuring = false;
        accepted
    }

    /// As a host does for a new configuration: another root context in the same VM.
    pub fn replace_root(&mut self) {
        self.root = self.vm.create_root().unwrap();
    }

    /// The host.
    pub fn host(&self) -> &FakeHost {
        self.vm.env()
    }

    /// The polls it has sent.
    pub fn calls(&self) -> &[Call] {
        &self.host().calls
    }

    /// The next tick, when its time has come.
    pub fn tick(&mut self) {
        let period = self.host().tick_period.expect("the filter asked for ticks");
        self.vm.env_mut().now += period;
        self.vm.on_tick(&self.root).unwrap();
    }

    /// Ticks for as long as this.
    pub fn pass(&mut self, time: Duration) {
        let end = self.host().now + time;
        while self.host().now < end {
            self.tick();
        }
    }

    /// Answers the newest poll.
    pub fn answer(&mut self, status: u16, body: &[u8]) {
        let token = self.calls().last().unwrap().token;
        let host = self.vm.env_mut();
        host.answer_status = Some(status);
        host.answer_body = body.to_vec();
        self.vm
            .on_http_call_response(&self.root, token, 1, u32::try_from(body.len()).unwrap(), 0)
            .unwrap();
    }

    /// Answers any call, numbered from 0 as they were sent; as Kong's host does it, while the context is the current one that
    /// has sent it.
    pub fn answer_call(
        &mut self,
        number: usize,
        context: Option<ContextId>,
        status: u16,
        body: &[u8],
    ) {
        let token = self.calls()[number].token;
        let host = self.vm.env_mut();
        host.answer_status = Some(status);
        host.answer_body = body.to_vec();
        let context = context.map_or(&self.root, |id| &self.open[&id]);
        self.vm
            .on_http_call_response(context, token, 1, u32::try_from(body.len()).unwrap(), 0)
            .unwrap();
    }

    /// Answers the newest poll with tables.
    pub fn answer_tables(&mut self, tables: Tables) {
        self.answer(200, &PluginConfig::with_tables(tables).to_json());
    }

    /// The newest poll gets no answer at all.
    pub fn fail_call(&mut self) {
        let token = self.calls().last().unwrap().token;
        self.vm.env_mut().answer_status = None;
        self.vm
            .on_http_call_response(&self.root, token, 0, 0, 0)
            .unwrap();
    }

    /// A request that matched a route, or none; it stays open when it waits.
    pub fn request(&mut self, route: Option<&str>) -> (ContextId, Outcome) {
        self.request_with_headers(route, &[])
    }

    /// The same with headers.
    pub fn request_with_headers(
        &mut self,
        route: Option<&str>,
        headers: &[(&str, &str)],
    ) -> (ContextId, Outcome) {
        let (id, outcome) = self.open(route, headers);
        if outcome != Outcome::Paused {
            self.end(id);
        }
        (id, outcome)
    }

    /// A request that stays open.
    pub fn open(&mut self, route: Option<&str>, headers: &[(&str, &str)]) -> (ContextId, Outcome) {
        let pair =
            |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let headers = headers.iter().map(pair).collect();
        self.open_request(
            route,
            Request {
                headers,
                ..Request::default()
            }
            .to_pods(),
        )
    }

    /// The same for a request with whatever the host knows of it.
    pub fn open_request(
        &mut self,
        route: Option<&str>,
        mut request: Request,
    ) -> (ContextId, Outcome) {
        let context = self.vm.create_http(&self.root).unwrap();
        let id = context.id();
        if let Some(route) = route {
            request
                .properties
                .insert(self.host().route_property(), route.as_bytes().to_vec());
        }
        self.vm.env_mut().requests.insert(id, request);
        let action = self.vm.on_request_headers(&context, 1, true).unwrap();
        let outcome = self.outcome(id, action);
        self.open.insert(id, context);
        (id, outcome)
    }

    /// Endpoints were tried, the last one answered; says which cookies the filter has set.
    pub fn answer_client(
        &mut self,
        id: ContextId,
        tried: &[(&str, u16)],
        took: Duration,
    ) -> Vec<String> {
        self.vm.env_mut().answered(id, tried, took);
        self.vm
            .on_response_headers(&self.open[&id], 1, false)
            .unwrap();
        let headers = &self.host().requests[&id].response_headers;
        let cookies = headers.iter().filter(|(name, _)| name == b"set-cookie");
        cookies
            .map(|(_, value)| String::from_utf8(value.clone()).unwrap())
            .collect()
    }

    fn outcome(&self, id: ContextId, action: Action) -> Outcome {
        match (
            self.host().requests[&id].replied,
            action,
            self.host().choice(id),
        ) {
            (Some(status), Action::Pause, _) => Outcome::Replied(status),
            (Some(_), Action::Continue, _) => panic!("a request that was answered must not go on"),
            (None, Action::Pause, _) => Outcome::Paused,
            (None, Action::Continue, Some(choice)) => Outcome::Forwarded(choice),
            (None, Action::Continue, None) => Outcome::LeftAlone,
        }
    }

    /// The outcome of a request that waited.
    pub fn fate(&self, id: ContextId) -> Outcome {
        let request = &self.host().requests[&id];
        let action = if request.resumed || request.replied.is_some() {
            Action::Continue
        } else {
            Action::Pause
        };
        match request.replied {
            Some(status) => Outcome::Replied(status),
            None => self.outcome(id, action),
        }
    }

    /// The request is over, and the host does not say so before it deletes the context.
    pub fn drop_unlogged(&mut self, id: ContextId) {
        let context = self.open.remove(&id).unwrap();
        self.vm.on_delete(context).unwrap();
    }

    /// The request is over, whether it was served or its client went away.
    pub fn end(&mut self, id: ContextId) {
        let context = self.open.remove(&id).unwrap();
        self.vm.on_done(&context).unwrap();
        self.vm.on_log(&context).unwrap();
        self.vm.on_delete(context).unwrap();
    }
}

/// The route of [`super::tables()`].
pub const ROUTE: &str = "shop.example/";
/// The backend of [`super::tables()`].
pub const BACKEND: &str = "ns/shop/80";
