//! A running instance of the filter and the calls into it.

use std::rc::Rc;

use sluice_ngx::{CallResponse, Level, log};
use sluice_wasm_host::{Action, Context, ContextId, Trap, Vm};

use super::env::NginxEnv;
use super::filter::Filter;
use crate::request::{Kept, Request};

/// An instance with its root contexts, one for each plugin configuration.
pub(crate) struct Instance {
    vm: Vm<NginxEnv>,
    roots: Vec<Context>,
}

impl Instance {
    /// Starts an instance and configures it.
    pub(crate) fn new(filter: &Filter, env: NginxEnv) -> Result<Self, String> {
        let vm = Vm::new(&filter.plugin, env).map_err(|trap| trap.to_string())?;
        Self::configure(vm, filter)
    }

    /// Replaces a trapped instance by a new one.
    pub(crate) fn restart(self, filter: &Filter) -> Result<Self, String> {
        let mut vm = self.vm;
        vm.env_mut().reset();
        Self::configure(vm.restart(), filter)
    }

    fn configure(mut vm: Vm<NginxEnv>, filter: &Filter) -> Result<Self, String> {
        if let Some(trap) = vm.trap() {
            return Err(trap.to_string());
        }
        let mut roots = Vec::new();
        for configuration in &*filter.configurations {
            roots.push(create_root(&mut vm, configuration, roots.is_empty())?);
        }
        Ok(Self { vm, roots })
    }

    pub(crate) fn on_request(
        &mut self,
        request: &Request,
        root_index: usize,
    ) -> Result<Action, Trap> {
        let Some(root) = self.roots.get(root_index) else {
            return Ok(Action::Continue);
        };
        let context = self.vm.create_http(root)?;
        self.vm.env_mut().add_request(context.id(), request);
        let (headers, has_body) = request
            .with(|live| (live.request_header_count(), live.has_body()))
            .unwrap_or_default();
        let action = self.vm.on_request_headers(&context, headers, !has_body);
        request.data().replace(Kept::Context(context));
        action
    }

    pub(crate) fn on_response(
        &mut self,
        request: &Request,
        context: &Context,
    ) -> Result<Action, Trap> {
        let (headers, is_head) = request
            .with(|live| (live.response_header_count(), live.is_head()))
            .unwrap_or_default();
        self.vm.on_response_headers(context, headers, is_head)
    }

    pub(crate) fn on_log(&mut self, context: &Context) -> Result<(), Trap> {
        // nginx does not wait for a guest that is not done.
        self.vm.on_done(context)?;
        self.vm.on_log(context)
    }

    pub(crate) fn on_end(&mut self, context: Context) -> Result<(), Trap> {
        if self.vm.is_live(&context) {
            self.vm.env_mut().remove_request(context.id());
        }
        self.vm.on_delete(context)
    }

    pub(crate) fn on_tick(&mut self, root: ContextId) -> Result<(), Trap> {
        if let Some(context) = self.roots.iter().find(|context| context.id() == root) {
            self.vm.on_tick(context)?;
        }
        self.vm.env().timers.rearm(root);
        Ok(())
    }

    /// Passes the end of a call to the guest. A call that failed has no response headers.
    pub(crate) fn on_call_end(
        &mut self,
        token: u32,
        result: Result<CallResponse, &'static str>,
    ) -> Result<(), Trap> {
        let env = self.vm.env_mut();
        let Some(id) = env.calls.finish(token) else {
            return Ok(());
        };
        let response = result
            .map_err(|reason| {
                log(
                    Level::Info,
                    format!("sluice: call failed: {reason}").as_bytes(),
                );
            })
            .ok();
        let (headers, body_size) = response.as_ref().map_or((0, 0), |response| {
            (response.headers.len() + 1, response.body.len())
        });
        env.call_response = response;
        let called = self.on_http_call_response(
            id,
            token,
            u32::try_from(headers).unwrap_or(0),
            u32::try_from(body_size).unwrap_or(0),
        );
        self.vm.env_mut().call_response = None;
        called
    }

    fn on_http_call_response(
        &mut self,
        id: ContextId,
        token: u32,
        headers: u32,
        body_size: u32,
    ) -> Result<(), Trap> {
        if let Some(root) = self.roots.iter().find(|root| root.id() == id) {
            return self
                .vm
                .on_http_call_response(root, token, headers, body_size, 0);
        }
        let Some(request) = self.vm.env().request(id).cloned() else {
            return Ok(());
        };
        let kept = request.data().borrow();
        let Kept::Context(context) = &*kept else {
            return Ok(());
        };
        self.vm
            .on_http_call_response(context, token, headers, body_size, 0)
    }
}

/// Creates a root context; the first one also starts the VM.
fn create_root(
    vm: &mut Vm<NginxEnv>,
    configuration: &Rc<[u8]>,
    is_first: bool,
) -> Result<Context, String> {
    let failed = |trap: Trap| trap.to_string();
    let root = vm.create_root().map_err(failed)?;
    if is_first && !vm.on_vm_start(&root, 0).map_err(failed)? {
        return Err("the filter refused to start".to_owned());
    }
    vm.env_mut().configuration = Some(Rc::clone(configuration));
    let size = u32::try_from(configuration.len()).unwrap_or(u32::MAX);
    let accepted = vm.on_configure(&root, size).map_err(failed)?;
    vm.env_mut().configuration = None;
    if accepted {
        Ok(root)
    } else {
        Err("the filter rejected its configuration; see its own log line".to_owned())
    }
}
