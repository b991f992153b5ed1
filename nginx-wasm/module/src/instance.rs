//! A running instance of the filter, and the calls into it.

use std::rc::Rc;

use sluice_ngxsafe::{Answer, Level, Request, log};
use sluice_pwhost::{Action, Context, ContextId, Trap, Vm};

use crate::Sluice;
use crate::configuration::Filter;
use crate::nginx::Nginx;

/// An instance with its root contexts, one for each configuration.
pub(crate) struct Instance {
    vm: Vm<Nginx>,
    roots: Vec<Context>,
}

impl Instance {
    /// Starts an instance and configures it.
    pub(crate) fn new(filter: &Filter, host: Nginx) -> Result<Self, String> {
        let vm = Vm::new(&filter.plugin, host).map_err(|trap| trap.to_string())?;
        Self::configured(vm, filter)
    }

    /// A new one in its place, after a trap.
    pub(crate) fn restart(self, filter: &Filter) -> Result<Self, String> {
        let mut vm = self.vm;
        vm.env_mut().forget();
        Self::configured(vm.restart(), filter)
    }

    fn configured(mut vm: Vm<Nginx>, filter: &Filter) -> Result<Self, String> {
        if let Some(trap) = vm.trap() {
            return Err(trap.to_string());
        }
        let mut roots = Vec::new();
        for configuration in &*filter.configurations {
            roots.push(root(&mut vm, configuration, roots.is_empty())?);
        }
        Ok(Self { vm, roots })
    }

    pub(crate) fn on_request(
        &mut self,
        request: &Request<Sluice>,
        root: usize,
    ) -> Result<Action, Trap> {
        let Some(root) = self.roots.get(root) else {
            return Ok(Action::Continue);
        };
        let context = self.vm.create_http(root)?;
        self.vm.env_mut().open(context.id(), request);
        let (headers, has_body) = request
            .with(|view| (view.request_header_count(), view.has_body()))
            .unwrap_or_default();
        let action = self.vm.on_request_headers(&context, headers, !has_body);
        request.data().replace(Some(context));
        action
    }

    pub(crate) fn on_response(&mut self, request: &Request<Sluice>) -> Result<Action, Trap> {
        let context = request.data().borrow();
        let Some(context) = &*context else {
            return Ok(Action::Continue);
        };
        let (headers, is_head) = request
            .with(|view| (view.response_header_count(), view.is_head()))
            .unwrap_or_default();
        self.vm.on_response_headers(context, headers, is_head)
    }

    pub(crate) fn on_log(&mut self, request: &Request<Sluice>) -> Result<(), Trap> {
        let context = request.data().borrow();
        let Some(context) = &*context else {
            return Ok(());
        };
        // Whether the guest is done makes no difference: nginx is.
        self.vm.on_done(context)?;
        self.vm.on_log(context)
    }

    pub(crate) fn on_end(&mut self, request: &Request<Sluice>) -> Result<(), Trap> {
        let Some(context) = request.data().take() else {
            return Ok(());
        };
        if self.vm.is_live(&context) {
            self.vm.env_mut().close(context.id());
        }
        self.vm.on_delete(context)
    }

    pub(crate) fn tick(&mut self, root: ContextId) -> Result<(), Trap> {
        if let Some(context) = self.roots.iter().find(|context| context.id() == root) {
            self.vm.on_tick(context)?;
        }
        self.vm.env().ticks.again(root);
        Ok(())
    }

    /// Tells the guest of an answer, or of a call that failed: it has no headers then.
    pub(crate) fn answered(
        &mut self,
        token: u32,
        result: Result<Answer, &'static str>,
    ) -> Result<(), Trap> {
        let host = self.vm.env_mut();
        let Some(id) = host.calls.ended(token) else {
            return Ok(());
        };
        let answer = result
            .map_err(|reason| {
                log(
                    Level::Info,
                    format!("sluice: call failed: {reason}").as_bytes(),
                )
            })
            .ok();
        let sizes = answer.as_ref().map_or((0, 0), |answer| {
            (answer.headers.len() + 1, answer.body.len())
        });
        let (headers, body) = (
            u32::try_from(sizes.0).unwrap_or(0),
            u32::try_from(sizes.1).unwrap_or(0),
        );
        host.answer = answer;
        let request = host.request(id).cloned();
        let told = match self.roots.iter().find(|root| root.id() == id) {
            Some(root) => self.vm.on_http_call_response(root, token, headers, body, 0),
            None => request.map_or(Ok(()), |request| match &*request.data().borrow() {
                Some(context) => self
                    .vm
                    .on_http_call_response(context, token, headers, body, 0),
                None => Ok(()),
            }),
        };
        self.vm.env_mut().answer = None;
        told
    }
}

/// Makes a root context; with the first one the VM starts.
fn root(vm: &mut Vm<Nginx>, configuration: &Rc<[u8]>, is_first: bool) -> Result<Context, String> {
    let failed = |trap: Trap| trap.to_string();
    let root = vm.create_root().map_err(failed)?;
    if is_first && !vm.on_vm_start(&root, 0).map_err(failed)? {
        return Err("the filter does not start".to_owned());
    }
    vm.env_mut().configuration = Some(Rc::clone(configuration));
    let size = u32::try_from(configuration.len()).unwrap_or(u32::MAX);
    let accepted = vm.on_configure(&root, size).map_err(failed)?;
    vm.env_mut().configuration = None;
    if accepted {
        Ok(root)
    } else {
        Err("the filter refuses its configuration; its own line says why".to_owned())
    }
}
